"""Adapter skeletons without dependencies: for each language what is common, and one face for each way to be audited."""

from __future__ import annotations

import enum
from importlib import resources

from verification.wire import Face


class Language(enum.StrEnum):
    """Languages in which a skeleton is offered."""

    PYTHON = "python"
    C = "c"
    CPP = "cpp"
    RUST = "rust"
    NODE = "node"
    GO = "go"
    JAVA = "java"


FILE_NAMES = {
    Language.PYTHON: "adapter.py",
    Language.C: "adapter.c",
    Language.CPP: "adapter.cpp",
    Language.RUST: "adapter.rs",
    Language.NODE: "adapter.mjs",
    Language.GO: "adapter.go",
    Language.JAVA: "Adapter.java",
}
ACCOUNTANT_FILE = "accountant.py"
BUILDS = {
    Language.C: "cc -O2 -o adapter adapter.c -lm",
    Language.CPP: "c++ -std=c++17 -O2 -o adapter adapter.cpp",
    Language.RUST: "rustc -O adapter.rs",
    Language.GO: "go build -o adapter adapter.go",
}
RUNS = {
    Language.PYTHON: "python3 adapter.py",
    Language.NODE: "node adapter.mjs",
    Language.JAVA: "java Adapter.java",
}
FILLED_IN = {Face.PAPER: 3, Face.DECLARED: 3, Face.BLACK_BOX: 1}
"""How many lines of each face are to be filled in."""


def next_commands(language: Language, face: Face) -> list[str]:
    """What to run once the skeleton is filled in; the build first, where there is one."""
    run = RUNS.get(language, "./adapter")
    then = {
        Face.PAPER: [f"dpadmm adapter smoke -- {run}", f"dpadmm conform -- {run}"],
        Face.DECLARED: ["dpadmm gate claim.toml"],
        Face.BLACK_BOX: [f"dpadmm audit --black-box --epsilon 1 --delta 1e-5 -- {run}"],
    }
    return [*([BUILDS[language]] if language in BUILDS else []), *then[face]]


def skeleton(language: Language, face: Face = Face.PAPER) -> str:
    """Return the text of a language's skeleton with this face."""
    return _stored(language, "base").replace("@FACE@\n", _stored(language, face).strip("\n") + "\n")


def declared_claim(language: Language) -> str:
    """Return the claim file that belongs to the skeleton of a declared algorithm."""
    command = ", ".join(f'"{word}"' for word in RUNS.get(language, "./adapter").split())
    return resources.files(__name__).joinpath("claim.toml").read_text(encoding="utf-8").replace("@COMMAND@", command)


def accountant_skeleton() -> str:
    """Return the text of the skeleton of an accountant behind the wire, in Python."""
    return resources.files(__name__).joinpath(f"{ACCOUNTANT_FILE}.txt").read_text(encoding="utf-8")


def _stored(language: Language, part: str) -> str:
    # The Python ones must not look like modules of this project to linters and test collectors.
    ending = FILE_NAMES[language].rpartition(".")[2] + (".txt" if language is Language.PYTHON else "")
    return resources.files(__name__).joinpath(language, f"{part}.{ending}").read_text(encoding="utf-8")
