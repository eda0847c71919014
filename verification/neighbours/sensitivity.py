r"""Observed against claimed sensitivity: how far one noiseless step moves x, z and y between neighbours.

Works on anything with a *replay*: a function from records, algorithm, parameters, noise and batches to the iterates.
The reference offers one in-process (:func:`reference_replay`). :func:`search_worst` looks for the worst case by
gradient ascent from random points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from verification.neighbours.families import WorstCase
from verification.neighbours.neighbours import Neighbours
from verification.neighbours.search import ascend
from verification.served.loopback import Loopback
from verification.served.translate import joint_factor, problem_of, regularizer_of, rounding_slack
from verification.wire.arrays import Floats
from verification.wire.messages import initial_point, options_for
from verification.wire.parameters import Algorithm, LossName, Parameters, RegularizerName, Release, noised_names
from verification.wire.records import Records

Replay = Callable[
    [Records, Algorithm, Parameters, Mapping[str, Floats], Sequence[Sequence[int]] | None], Mapping[str, Floats]
]
REACH = 14.0
"""|unknown| of a starting point is at most this: sinh(14) = 6e5."""


def reference_replay() -> Replay:
    """The reference itself, in this process."""
    loopback = Loopback()

    def replay(
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Mapping[str, Floats],
        batches: Sequence[Sequence[int]] | None,
    ) -> Mapping[str, Floats]:
        rows = None if batches is None else np.array(batches, dtype=np.intp)
        return loopback.replay(records, algorithm, parameters, dict(noise), rows)

    return replay


@dataclass(frozen=True, slots=True)
class StepSetting:
    """What is run on neighbours: one step of ssADMM on the whole data, or one epoch of mpADMM."""

    algorithm: Algorithm
    loss: LossName
    regularizer: RegularizerName = RegularizerName.L1
    lam: float = 0.0
    rho: float = 0.5
    eta: float = 4.0

    def parameters(self, case: WorstCase, *, steps: int = 1) -> Parameters:
        """The parameters of a noiseless run."""
        ssadmm = self.algorithm is Algorithm.SSADMM
        return Parameters(
            loss=self.loss,
            regularizer=self.regularizer,
            lambda_=self.lam,
            options=options_for(self.regularizer, case.dimension, self.rho),
            rho=self.rho,
            eta=[self.eta] * steps,
            iterations=steps,
            batch=case.first.count if ssadmm else None,
            sigma=0.0,
            clip=case.clip,
            normalise=case.normalise,
            release=None if ssadmm else Release.ALL,
            initial=initial_point(case.x, case.z, case.y),
        )


@dataclass(frozen=True, slots=True)
class ObservedSensitivity:
    """How far one value moved, what the claim allows, and how much of it is rounding."""

    moved: float
    bound: float
    slack: float

    @property
    def ratio(self) -> float:
        """The share of the bound that was reached."""
        return self.moved / self.bound

    @property
    def exceeded(self) -> bool:
        """Whether the bound is violated beyond rounding."""
        return not self.moved <= self.bound + self.slack


def observe(replay: Replay, case: WorstCase, setting: StepSetting) -> dict[str, ObservedSensitivity]:
    """Move of x, z, y, of all three jointly and, for ssADMM, of the gradient that x reveals."""
    parameters = setting.parameters(case)
    names = noised_names(setting.algorithm, parameters)
    noise = {name: np.zeros((1, case.dimension)) for name in names}
    ssadmm = setting.algorithm is Algorithm.SSADMM
    batches = [list(range(case.first.count))] if ssadmm else None
    runs = [replay(records, setting.algorithm, parameters, noise, batches) for records in (case.first, case.second)]
    moved = {name: float(np.linalg.norm(runs[0][name][0] - runs[1][name][0])) for name in ("x", "z", "y")}
    moved["joint"] = math.hypot(*moved.values())
    slack = _slack(parameters, case, runs)
    weight = setting.rho + 1 / setting.eta
    if ssadmm:
        moved["gradient"] = moved["x"] * weight
    bounds = claimed(parameters, case.first.count)
    return {
        name: ObservedSensitivity(moved[name], bounds[name], slack * (weight if name == "gradient" else 1.0))
        for name in moved
    }


def claimed(parameters: Parameters, records: int) -> dict[str, float]:
    """The corrected bounds: statements SENS-GRADIENT, SENS-X, SENS-Z, SENS-Y, JOINT, and E11 where h is not convex."""
    eta, rho = parameters.eta[0], parameters.rho
    gradient = 2 * parameters.bound / (parameters.batch or records)
    x = gradient * eta / (1 + eta * rho)
    L = max(1.0, float(regularizer_of(parameters).lipschitz(rho)))
    return {
        "gradient": gradient,
        "x": x,
        "z": L * x,
        "y": rho * max(1.0, L - 1) * x,
        "joint": joint_factor(parameters) * x,
    }


def _slack(parameters: Parameters, case: WorstCase, runs: list[Mapping[str, Floats]]) -> float:
    """Rounding of both runs, in the Euclidean norm over three vectors."""
    problem, starts = problem_of(case.first, parameters), {"x": case.x, "z": case.z, "y": case.y}
    stacked = [np.stack([start, *(run[name][0] for run in runs)]) for name, start in starts.items()]
    return rounding_slack(parameters, problem, stacked) * math.sqrt(3 * case.dimension)


# -- the worst case by gradient ascent ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FoundWorst:
    """The worst case that was seen for one bound, how many were tried, and which bounds were exceeded on the way."""

    best: ObservedSensitivity
    case: WorstCase
    setting: StepSetting
    tried: int
    exceeded: tuple[str, ...]


def search_worst(
    replay: Replay,
    name: str,
    template: WorstCase,
    setting: StepSetting,
    *,
    starts: int = 6,
    rounds: int = 40,
    seed: int = 0,
) -> FoundWorst:
    """The largest observed share of one bound, from random starts by ascent; every evaluation is also a check.

    The unknowns are the two records, the other records, the initial x, z and y, the threshold lambda, and rho and eta.
    """
    seen: list[tuple[ObservedSensitivity, WorstCase, StepSetting]] = []
    exceeded: set[str] = set()
    tried = 0

    def ratio(point: Floats) -> float:
        nonlocal tried, seen
        tried += 1
        case, at = _read(point, template, setting)
        observed = observe(replay, case, at)
        exceeded.update(key for key, value in observed.items() if value.exceeded)
        seen = sorted([*seen, (observed[name], case, at)], key=lambda each: -each[0].ratio)[:1]
        return observed[name].ratio

    n, p = template.first.features.shape
    size = (n + 1) * p + 3 * p + 3
    spread = np.r_[np.ones(size - 3), np.full(3, 0.5)]
    ascend(ratio, spread, starts=starts, rounds=rounds, rng=np.random.default_rng(seed))
    return FoundWorst(*seen[0], tried, tuple(sorted(exceeded)))


def _read(point: Floats, template: WorstCase, setting: StepSetting) -> tuple[WorstCase, StepSetting]:
    """From a point to records (normalised to the template's length by the implementation), start and parameters.

    Lengths that may be huge (SENS-GRADIENT is attained only far out) enter as sinh, so that a step can reach 10^6.
    """
    n, p = template.first.features.shape
    length = float(np.linalg.norm(template.first.features[0]))
    rows, rest = point[: (n + 1) * p].reshape(n + 1, p), point[(n + 1) * p :]
    rows = length * rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    second = Records(rows[1:], template.first.labels)
    first = second.replace(0, rows[0], int(template.first.labels[0]))
    x, z, y = np.sinh(np.clip(rest[: 3 * p], -REACH, REACH)).reshape(3, p)
    lam, rho, eta = np.exp(np.clip(rest[3 * p :], -3.0, 3.0))
    at = replace(setting, lam=float(lam) - float(np.exp(-3.0)), rho=float(rho), eta=float(eta))
    return replace(template, neighbours=Neighbours(first, second), x=x, z=z, y=y), at
