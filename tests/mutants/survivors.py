"""The general mutants that survive, and why nobody can or need notice them: ``survivors.toml``, read."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from tests.mutants.record import Key, Tried

EXPLANATIONS = Path(__file__).with_name("survivors.toml")


@functools.cache
def explained() -> dict[Key, str]:
    """The reason of each explained survivor; two reasons for one are refused."""
    found: dict[Key, str] = {}
    for group in tomllib.loads(EXPLANATIONS.read_text("utf-8"))["explained"]:
        for module, functions in group["survivors"].items():
            for key in ((module, function, change) for function, some in functions.items() for change in some):
                if key in found:
                    raise ValueError(f"{EXPLANATIONS.name} explains {key} twice")
                found[key] = group["why"]
    return found


def why(tried: Tried) -> str:
    """The explanation of a survivor; empty if there is none."""
    return explained().get(tried.key, "")
