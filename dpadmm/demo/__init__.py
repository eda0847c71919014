"""What `dpadmm demo` shows: the reference and a wrong implementation, each with a claim file.

``python -m dpadmm.demo [NAME]`` is the adapter of both. The claim files are those of `examples/claims` of the project,
with this adapter.
"""

from __future__ import annotations

from importlib import resources

HONEST, WRONG, PAPER = "reference", "variance-as-deviation", "paper-mpadmm"


def claim(name: str) -> str:
    """The text of a claim file."""
    return (resources.files(__name__) / f"{name}.toml").read_text("utf-8")
