"""`dpadmm experiment`: the paper's experiments, repeated."""

from __future__ import annotations

from dpadmm.experiments.command import command

__all__ = ["command"]
