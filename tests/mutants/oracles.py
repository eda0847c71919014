"""Who judges a general mutant: golden vectors in this process, evidence without solvers, and a module's own tests."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from verification.adapter.loopback import Loopback
from verification.adapter.parameters import Algorithm, Parameters
from verification.adapter.records import Records, Run
from verification.claims.evidence import attacks, convergence, floats, profiles, renyi, silences
from verification.claims.model import Evidence, Outcome
from verification.lemmas.prover import Prover
from verification.vectors import model
from verification.vectors.checking import first_difference
from verification.vectors.files import load_all
from verification.vectors.recipe import Recipe, read
from verification.vectors.wire import parameter_fields

ROOT = Path(__file__).parents[2]
Oracle = tuple[str, Callable[[], bool]]
NO_PROVER = cast(Prover, None)  # evidence that asks no solver ignores it

REFERENCE_EVIDENCE = (
    attacks.attained("gradient", attacks.SSADMM),
    attacks.attained("joint", *attacks.BOTH_ENDS),
    floats.losses_at_every_margin(),
    floats.clipping_in_bits(),
    floats.curvatures_are_attained(),
    floats.gradient_bounds_are_attained(),
    floats.intercept_before_normalising(),
    floats.epochs_of_the_schedule(),
    floats.grid_moves_by_half(),
    floats.folded_refused_where_they_jump(),
    convergence.pathwise(),
    convergence.averages_of_the_right_iterates(),
    convergence.last_iterate_is_not_bounded(),
    convergence.first_step_size(),
    silences.scaling_reads_the_data(),
)
ACCOUNTANT_EVIDENCE = (
    renyi.gaussian_divergence(),
    renyi.lemma2_dominates(),
    renyi.capped_by_unamplified(),
    renyi.conversions_hold(),
    renyi.proposition1_is_tight(),
    profiles.gaussian_profile_is_exact(),
    profiles.profile_dominates(),
    profiles.moments_match_the_profile(),
    silences.printed_epsilon_is_too_small(),
    silences.ledgers_add(),
    silences.primal_release_is_cheaper(),
    silences.sampling_schemes(),
    attacks.priced(),
)


def oracles_for(module: str) -> list[Oracle]:
    """The judges of a module, the quickest first."""
    package, _, name = module.partition(".")
    evidence = REFERENCE_EVIDENCE if package == "reference" else ACCOUNTANT_EVIDENCE
    judges: list[Oracle] = [(f"evidence: {entry.name}", functools.partial(stands, entry)) for entry in evidence]
    if package == "reference":
        _cases()
        judges.insert(0, ("vectors", vectors_pass))
    own = [path for path in tests_of(package, name.rpartition(".")[2]) if path.is_file()]
    return [*judges, *((f"tests: {path.name}", functools.partial(tests_pass, path)) for path in own)]


def tests_of(package: str, name: str) -> list[Path]:
    """The test files that belong to a module."""
    regularizers = dict.fromkeys(("separable", "folded", "matrix"), "regularizers")
    algorithms = dict.fromkeys(("problem", "ssadmm", "mpadmm", "updates"), "algorithms")
    renamed = {**regularizers, **algorithms, "outputs": "theorem2"}
    folder = ROOT / "tests" / package
    return [folder / f"test_{renamed.get(name, name)}.py"]


def stands(evidence: Evidence) -> bool:
    """Whether a piece of evidence stands."""
    return evidence.run(NO_PROVER).outcome is Outcome.STANDS


def tests_pass(path: Path) -> bool:
    """Whether a test file passes, in this process."""
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", str(path)]) == 0


@functools.cache
def _cases() -> list[tuple[model.Expected, Recipe, Parameters]]:
    """The cases, read once; a child that is forked afterwards need not read them again."""
    every = [case for file in load_all() for case in file.cases]
    recipes = [(case.expected, read(case)) for case in every if case.expected is not None]
    return [
        (expected, recipe, Parameters.model_validate_json(json.dumps(parameter_fields(recipe))))
        for expected, recipe in recipes
    ]


def vectors_pass() -> bool:
    """Whether the reference plays every golden vector that has a result."""
    loopback = Loopback()
    for expected, recipe, parameters in _cases():
        records = Records(recipe.features, np.array(recipe.labels, dtype=np.int64))
        batches = None if recipe.batches is None else np.array(recipe.batches, dtype=np.intp)
        values = loopback.replay(records, Algorithm(recipe.algorithm), parameters, dict(recipe.noise), batches)
        if first_difference(expected, Run(values)) is not None:
            return False
    return True
