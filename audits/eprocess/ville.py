"""Statement VILLE: the audits' bets against claims that just hold, over every course that a few rounds can take."""

from __future__ import annotations

import itertools
import math

import numpy as np

from audits.curves import ApproximateCurve
from audits.eprocess.bets import Portfolio
from audits.eprocess.curve_test import CurveTest
from verification.smt.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind, Statement, Status

_CLAIMS, _ROUNDS, _ALPHAS = 24, 3, np.array([0.9, 0.5, 0.2, 0.05])


def _run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - no solver is needed
    generator, means, kept = np.random.default_rng(1939), [], True
    scores = np.array(list(itertools.product(np.ndindex(4, 4), repeat=_ROUNDS)), dtype=np.float64)
    first, second = scores[..., 0], scores[..., 1]
    for number in range(_CLAIMS):
        epsilon, delta = float(generator.uniform(0.1, 2.0)), float(generator.choice([0.0, 0.02, 0.2]))
        curve, likely = ApproximateCurve(epsilon, delta), (1 - delta) / (1 + math.exp(-epsilon))
        law = np.array([0.0, 1 - delta - likely, likely, delta])  # with its mirror image the worst pair of the claim
        bets = tuple(_bets(generator, curve, best=number % 2 == 0) for _ in range(2))
        wealth = np.exp(CurveTest(bets, (0.5, 0.5)).log_wealth(curve, first, second))
        weight = np.prod(law[first.astype(int)] * law[::-1][second.astype(int)], axis=-1)
        means.append(float(weight @ wealth[:, -1]))
        kept &= bool(np.all(weight @ (wealth.max(axis=-1)[:, None] >= 1 / _ALPHAS) <= _ALPHAS))
    detail = f"mean wealth at most {max(means):.6f}; refuted with probability at most alpha: {kept}"
    held = kept and 0.99 < max(means) < 1 + 1e-9
    return EvidenceResult.check(held, detail, size=_CLAIMS * _ALPHAS.size, tightness=max(means))


def _bets(generator: np.random.Generator, curve: ApproximateCurve, *, best: bool) -> Portfolio:
    """Return random bets; the best ones neither gain nor lose on average against the worst pair."""
    return Portfolio(
        thresholds=np.array([0.5, 1.5, 2.5]),
        index=np.full(4, 1) if best else generator.integers(0, 3, 4),
        epsilon=generator.uniform(0.0, curve.epsilon if best else 2.5, 4),
        reverse=generator.random(4) < 0.5,
        stake=generator.uniform(0.1, 1.0, 4),
    ).scaled_to_risk(curve)


VILLE = Statement(
    "VILLE",
    "Betting against a true claim reaches 1/alpha in any number of rounds with probability at most alpha.",
    "why a refutation by an audit is one; not in the paper",
    Status.PROVED,
    (Evidence(f"the audits' bets against {_CLAIMS} claims, all courses of {_ROUNDS} rounds", Kind.ENCLOSURE, _run),),
)
