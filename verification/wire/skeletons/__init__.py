"""Adapter skeletons with three functions to fill in, one per language, without dependencies."""

from __future__ import annotations

import enum
from importlib import resources


class Language(enum.StrEnum):
    """Languages in which a skeleton is offered."""

    PYTHON = "python"
    C = "c"
    RUST = "rust"
    NODE = "node"


FILE_NAMES = {
    Language.PYTHON: "adapter.py",
    Language.C: "adapter.c",
    Language.RUST: "adapter.rs",
    Language.NODE: "adapter.mjs",
}
ACCOUNTANT_FILE = "accountant.py"
# How to run it once it is filled in; the build step first, where there is one.
COMMANDS = {
    Language.PYTHON: ("dpadmm adapter smoke -- python3 adapter.py",),
    Language.C: ("cc -O2 -o adapter adapter.c -lm", "dpadmm adapter smoke -- ./adapter"),
    Language.RUST: ("rustc -O adapter.rs", "dpadmm adapter smoke -- ./adapter"),
    Language.NODE: ("dpadmm adapter smoke -- node adapter.mjs",),
}


def skeleton(language: Language) -> str:
    """Return the text of a language's skeleton."""
    name = FILE_NAMES[language]
    # The Python one must not look like a module of this project to linters and test collectors.
    stored = f"{name}.txt" if language is Language.PYTHON else name
    return resources.files(__name__).joinpath(stored).read_text(encoding="utf-8")


def accountant_skeleton() -> str:
    """Return the text of the skeleton of an accountant behind the wire, in Python."""
    return resources.files(__name__).joinpath(f"{ACCOUNTANT_FILE}.txt").read_text(encoding="utf-8")
