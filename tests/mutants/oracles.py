"""Who judges a general mutant: golden vectors in this process, evidence without solvers, and a module's own tests."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from tests.mutants.calls import calls_of, tests_by_time
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

LONG = 2.0  # seconds; longer tests are asked about survivors alone
# Modules whose tests are not in tests/<package>/test_<module>.py alone.
TESTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("updates", "problem", "ssadmm", "mpadmm"), ("test_algorithms", "test_number_systems")),
    **dict.fromkeys(
        ("regularizers.separable", "regularizers.folded", "regularizers.matrix"),
        ("test_regularizers", "test_number_systems"),
    ),
    **dict.fromkeys(
        ("arithmetic.__init__", "arithmetic.float64", "arithmetic.in_digits", "arithmetic.elementwise"),
        ("test_number_systems",),
    ),
    "arithmetic.in_balls": ("test_balls", "test_number_systems"),
    "arithmetic.in_symbols": ("test_symbols", "test_number_systems"),
    "many": ("test_number_systems", "test_randomness", "test_theorem2"),
    "outputs": ("test_theorem2",),
    "rounding": ("test_discrete_gaussian",),
    **{
        f"baselines.{name}": (f"baselines/test_{name}",) for name in ("dpadmm", "dpsgd", "dpsvrg", "nonprivate", "objp")
    },
    "baselines.inner": ("baselines/test_objp", "baselines/test_dpadmm"),
    "baselines.optimum": ("baselines/test_nonprivate", "baselines/test_objp"),
    **dict.fromkeys(
        ("subsampling", "tight_rdp", "conversion", "chi_moments", "poisson", "gaussian"),
        ("test_subsampling", "test_gaussian", "test_pricing", "test_vectors"),
    ),
    "algorithms": ("test_algorithms", "test_baseline_ledgers"),
    **dict.fromkeys(
        ("ledger", "baselines", "rdp"),
        ("test_baseline_ledgers", "test_subsampling", "test_algorithms", "test_pricing", "test_vectors"),
    ),
}


def oracles_for(module: str, function: str, longest: float = LONG) -> list[Oracle]:
    """Those who call a function of a module and may judge it, the quickest first."""
    package, _, name = module.partition(".")
    place = (f"{module.replace('.', '/')}.py", function)
    found = [judge for judge in judges_of(package) if place in calls_of(*judge)]
    for path in tests_of(package, name):
        watched = tests_by_time(path, tests_pass)
        tests = [test for test, seconds, calls in watched if place in calls and seconds < longest]
        if tests:
            found.append((f"tests: {path.name}", functools.partial(tests_pass, tests)))
    return found


@functools.cache
def judges_of(package: str) -> list[Oracle]:
    """The judges of a package beside its tests."""
    if package == "accountant":
        return [(f"evidence: {entry.name}", functools.partial(stands, entry)) for entry in ACCOUNTANT_EVIDENCE]
    _cases()
    evidence = [(f"evidence: {entry.name}", functools.partial(stands, entry)) for entry in REFERENCE_EVIDENCE]
    return [("vectors", vectors_pass), *evidence]


def tests_of(package: str, name: str) -> list[Path]:
    """The test files that belong to a module."""
    return [ROOT / "tests" / package / f"{file}.py" for file in TESTS.get(name, (f"test_{name}",))]


def stands(evidence: Evidence) -> bool:
    """Whether a piece of evidence stands."""
    return evidence.run(NO_PROVER).outcome is Outcome.STANDS


def tests_pass(tests: Sequence[str], *plugins: object) -> bool:
    """Whether tests pass, in this process."""
    flags = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--rootdir={ROOT}"]
    return pytest.main([*flags, *tests], plugins=plugins) == 0


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
