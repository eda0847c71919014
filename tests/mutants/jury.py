"""Who judges a general mutant: golden vectors in this process, evidence without solvers, and a package's own tests."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

import numpy as np
import pytest

from tests.mutants.calls import Watched, watch, watch_tests
from tests.mutants.scope import ROOT, path_of
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

QUICK = 2.0  # seconds; longer tests are asked about survivors alone
FEW = 8
PATIENCE = 12.0  # seconds; so much of the quickest judges is asked, and the rest about survivors alone


@dataclass(frozen=True, slots=True)
class Jury:
    """Those who judge a package, watched at work: its tests, the quickest first, and the others."""

    tests: tuple[Watched, ...]
    others: tuple[tuple[Watched, Callable[[], bool]], ...]

    def judges(self, module: str, function: str, *, every: bool = False) -> list[Judge]:
        """Those who call a function; without ``every``, only the quick ones."""
        place = (str(path_of(module).relative_to(ROOT)), function)
        tests = [test for test in self.tests if place in test.calls]
        if not every:
            spent = accumulate(test.seconds for test in tests)
            tests = [test for test, sum_ in zip(tests, spent, strict=True) if test.seconds < QUICK and sum_ < PATIENCE]
        # The quickest alone first: they often notice, and to collect all the others takes longer than to run these.
        groups = [
            Judge("tests", sum(t.seconds for t in some), functools.partial(tests_pass, [t.name for t in some]))
            for some in (tests[:FEW], tests[FEW:])
            if some
        ]
        others = [Judge(w.name, w.seconds, passes) for w, passes in self.others if place in w.calls]
        return sorted([*groups, *others], key=lambda judge: judge.seconds)


@dataclass(frozen=True, slots=True)
class Judge:
    """Who may notice a mutant, and the processor time it takes when nothing is wrong."""

    name: str
    seconds: float
    passes: Callable[[], bool]


@functools.cache
def jury_of(package: str) -> Jury:
    """Everybody who judges a package; watched once, which takes a minute or three."""
    paths = sorted((ROOT / "tests" / package).rglob("test_*.py"))
    # Imported here, a child need not import them again; hypothesis is told how to draw before tests are defined.
    for path in (ROOT / "tests" / "conftest.py", *paths):
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    evidence = ACCOUNTANT_EVIDENCE if package == "accountant" else REFERENCE_EVIDENCE
    others: list[tuple[str, Callable[[], bool]]]
    others = [(f"evidence: {entry.name}", functools.partial(stands, entry)) for entry in evidence]
    if package == "reference":
        _cases()
        others = [("vectors", vectors_pass), *others]
    watched = sorted(((watch(*other), other[1]) for other in others), key=lambda pair: pair[0].seconds)
    return Jury(tuple(watch_tests(paths, tests_pass)), tuple(watched))


class NotAskedError(Exception):
    """A judge could not be asked, which is no verdict."""


def stands(evidence: Evidence) -> bool:
    """Whether a piece of evidence stands."""
    return evidence.run(NO_PROVER).outcome is Outcome.STANDS


def tests_pass(tests: Sequence[str], *plugins: object) -> bool:
    """Whether tests pass, in this process; :class:`NotAskedError` if they could not be found."""
    flags = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--rootdir={ROOT}"]
    flags += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # what was imported before is not rewritten
    code = pytest.main([*flags, *tests], plugins=plugins)
    if code in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise NotAskedError(f"pytest could not run {len(tests)} tests, {tests[0]} and others: {code}")
    return code == 0


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
