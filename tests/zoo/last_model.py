r"""The audit of a member that shows its last model alone: what no conformance check can look into.

Two games, each against the whole claimed curve with the default e-process, the false-alarm probability split between
them. All records are in every batch and gradients are clipped, so that the claim is Gaussian, mu-GDP with
mu = sqrt(T)/multiplier, and the hardest pair (opposite records of largest gradients) attains it:

* *many small steps*: an honest last model then holds the sum of all noise and all of the record's influence;
* *one large step*, eta = 4, where a sensitivity that forgot its eta is four times too small.

The score is the last model along the direction in which the pair differs, centred and scaled on trials that are not
used again. What it is does not matter for soundness, only for power.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audits.curves import GaussianCurve
from audits.eprocess.curve_test import CurveTest, design_test, refuted_after
from audits.eprocess.scores import GaussianScores
from verification.served.translate import sensitivities
from verification.wire.arrays import Floats
from verification.wire.messages import Capability, Show, parameters_for
from verification.wire.parameters import Algorithm, Parameters, Release
from verification.wire.records import Records
from verification.wire.session import HiddenPair, Session

_RECORDS = 4
_LENGTH = 8.0  # of the features, times C: clipped at every margin below 1.9
_PILOT = 200
_MU = 1.0


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of it: refuted after so many trial pairs, or not within the budget."""

    refuted: bool
    pairs: int
    detail: str


def audit_last_model(
    session: Session, algorithm: Algorithm, rng: np.random.Generator, *, alpha: float = 1e-3, budget: int = 4000
) -> Audit:
    """Audit until the claim is refuted or the budget of trial pairs is spent."""
    games = list(_games(session, algorithm))
    spent = 0
    for name, parameters in games:
        first, second = _scores(session, algorithm, parameters, rng, budget)
        test = _designed(alpha / len(games), budget)
        after = float(refuted_after(test.log_wealth(GaussianCurve(_MU), first, second), alpha / len(games)))
        if math.isfinite(after):
            return Audit(True, spent + int(after), f"{name}: {_MU:g}-GDP refuted after {int(after)} trial pairs")
        spent += budget
    return Audit(False, spent, f"{_MU:g}-GDP stands after {spent} trial pairs")


@functools.cache
def _designed(alpha: float, budget: int) -> CurveTest:
    return design_test(GaussianCurve(_MU), GaussianScores(), _MU, alpha=alpha, budget=budget)


def _games(session: Session, algorithm: Algorithm) -> Iterator[tuple[str, Parameters]]:
    for name, eta in (("many small steps", [2.0**-7] * 8), ("one large step", [4.0])):
        multiplier = math.sqrt(len(eta)) / _MU
        asked = parameters_for(
            session.description,
            algorithm,
            2,
            eta=eta,
            batch=_RECORDS,
            noise_multiplier=multiplier,
            bound=0.5,
            rho=0.5,
            release=Release.PRIMAL,
        )
        if not session.can(Capability.MULTIPLIER):
            sigma = multiplier * float(sensitivities(algorithm, asked, _RECORDS)[0])
            asked = asked.model_copy(update={"noise_multiplier": None, "sigma": sigma})
        yield name, asked


def _scores(
    session: Session, algorithm: Algorithm, parameters: Parameters, rng: np.random.Generator, budget: int
) -> tuple[Floats, Floats]:
    """Scores of both neighbours, pair by pair, centred and scaled on trials of their own."""
    usual = np.tile([[-_LENGTH * parameters.bound, 0.0]], (_RECORDS, 1))
    second = Records(usual, np.ones(_RECORDS, dtype=np.int64))
    first = second.replace(0, -usual[0], 1)
    runs = HiddenPair(session, first, second, rng).trials(algorithm, parameters, _PILOT + budget, show=Show.LAST)
    along = [run.x[:, 0] for run in runs]
    pilot = [values[:_PILOT] for values in along]
    direction = math.copysign(1.0, float(pilot[0].mean() - pilot[1].mean()))
    # A mechanism without noise would divide by 0; any positive scale is as good as another there.
    scale = float(pilot[1].std()) or 1.0
    centred = [direction * (values[_PILOT:] - pilot[1].mean()) / scale for values in along]
    return centred[0], centred[1]
