"""What the general mutation tool is run over, and what it is not, with the reason."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.operators import Change, changes

ROOT = Path(__file__).parents[2]

_GUESS = (
    "only guesses; what is guessed is certified or refused afterwards, so that a wrong guess costs time or tightness"
)
_CHECK = "makes no number that supports a claim: it checks such numbers"
_FILES = "reads and writes files; no formula"
LEFT_OUT = {
    "accountant.calibration_search": _GUESS,
    "accountant.pld_cuts": _GUESS,
    "accountant.pld_guess": _GUESS,
    "accountant.pld_plan": _GUESS,
    "accountant.exact_composition": _CHECK,
    "accountant.rechecking": _CHECK,
    "accountant.second_route": _CHECK,
    "accountant.certificates": _FILES,
    "accountant.ledger_file": _FILES,
    "accountant.vectors.generate": _FILES,
    "accountant.vectors.sets": _FILES,
}
GUESSES = {
    "accountant.gaussian": {"_newton", "_working_bits"},
    "accountant.conversion": {
        *("_walk_downhill", "_best_integer", "_short", "best_order", "_golden", "_easier", "_Objective.__call__"),
    },
    "accountant.digits": {"precisions"},
    "accountant.integration": {"safe_end", "_lower_bound"},
    "accountant.pld_search": {
        "epsilon_guess",
        "epsilon_guess.<locals>.excess",
        "_next_point",
        "finer_resolution",
        "log_of",
    },
    "accountant.poisson": {"_pieces"},
    "accountant.pricing": {"order_hints", "_multiplier_squared"},
    "accountant.tight_rdp": {"_pieces"},
}
"""Functions that only guess, in modules that do more."""


def path_of(module: str) -> Path:
    """The file of a module; a package is named with its ``__init__``."""
    return ROOT / f"{module.replace('.', '/')}.py"


def every_module() -> list[str]:
    """Every module of the two packages in which there is something to change."""
    paths = [path for package in ("reference", "accountant") for path in sorted((ROOT / package).rglob("*.py"))]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name for name in names if next(changes(path_of(name).read_text("utf-8")), None) is not None]


def modules() -> list[str]:
    """The modules that are in scope: all but those that are left out for a reason."""
    return [name for name in every_module() if name not in LEFT_OUT]


def mutants_of(module: str) -> list[Change]:
    """Every mutant of a module that is in scope."""
    guesses = GUESSES.get(module, set())
    return [change for change in changes(path_of(module).read_text("utf-8")) if change.function not in guesses]
