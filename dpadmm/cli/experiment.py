"""`dpadmm experiment`: the paper's experiments, repeated.

The studies sit beside this package, not below it, so the command is found by name (docs of the arrows: pyproject.toml).
"""

from __future__ import annotations

import importlib

import click

_found = importlib.import_module("experiments.command").command
if not isinstance(_found, click.Command):
    raise TypeError("experiments/command.py must define a click command called 'command'")
command: click.Command = _found
