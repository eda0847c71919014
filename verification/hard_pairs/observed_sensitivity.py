r"""Observed against claimed sensitivity: how far one noiseless step moves x, z and y between neighbours.

Works on anything with a *replay*: a function from records, algorithm, parameters, noise and batches to the iterates.
The reference offers one in-process (:func:`reference_replay`). :mod:`verification.hard_pairs.search` looks for the
worst case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from verification.hard_pairs.neighbours import NeighbourPair
from verification.served.loopback import Loopback
from verification.served.slack import rounding_slack
from verification.served.translate import joint_factor, problem_of, regularizer_of
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, LossName, Parameters, RegularizerName, Release
from verification.wire.records import Records
from verification.wire.schemes import noised_names
from verification.wire.simple_parameters import initial_point, options_for

Replay = Callable[
    [Records, Algorithm, Parameters, Mapping[str, Floats], Sequence[Sequence[int]] | None], Mapping[str, Floats]
]


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
    """What is run on a pair of neighbours: one step of ssADMM on the whole data, or one epoch of mpADMM."""

    algorithm: Algorithm
    loss: LossName
    regularizer: RegularizerName = RegularizerName.L1
    lam: float = 0.0
    rho: float = 0.5
    eta: float = 4.0

    def parameters(self, pair: NeighbourPair, *, steps: int = 1) -> Parameters:
        """The parameters of a noiseless run."""
        ssadmm = self.algorithm is Algorithm.SSADMM
        return Parameters(
            loss=self.loss,
            regularizer=self.regularizer,
            lambda_=self.lam,
            options=options_for(self.regularizer, pair.dimension, self.rho),
            rho=self.rho,
            eta=[self.eta] * steps,
            iterations=steps,
            batch=pair.first.count if ssadmm else None,
            sigma=0.0,
            clip=pair.clip,
            normalise=pair.normalise,
            release=None if ssadmm else Release.ALL,
            initial=initial_point(pair.x, pair.z, pair.y),
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


def observe(replay: Replay, pair: NeighbourPair, setting: StepSetting) -> dict[str, ObservedSensitivity]:
    """Move of x, z, y, of all three jointly and, for ssADMM, of the gradient that x reveals."""
    parameters = setting.parameters(pair)
    names = noised_names(setting.algorithm, parameters)
    noise = {name: np.zeros((1, pair.dimension)) for name in names}
    ssadmm = setting.algorithm is Algorithm.SSADMM
    batches = [list(range(pair.first.count))] if ssadmm else None
    runs = [replay(records, setting.algorithm, parameters, noise, batches) for records in (pair.first, pair.second)]
    moved = {name: float(np.linalg.norm(runs[0][name][0] - runs[1][name][0])) for name in ("x", "z", "y")}
    moved["joint"] = math.hypot(*moved.values())
    slack = _slack(parameters, pair, runs)
    weight = setting.rho + 1 / setting.eta
    if ssadmm:
        moved["gradient"] = moved["x"] * weight
    bounds = claimed(parameters, pair.first.count)
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


def _slack(parameters: Parameters, pair: NeighbourPair, runs: list[Mapping[str, Floats]]) -> float:
    """Rounding of both runs, in the Euclidean norm over three vectors."""
    problem = problem_of(pair.first, parameters)
    stacked = [np.stack([pair_start, *(run[name][0] for run in runs)]) for name, pair_start in _starts(pair)]
    return rounding_slack(parameters, problem, stacked) * math.sqrt(3 * pair.dimension)


def _starts(pair: NeighbourPair) -> list[tuple[str, Floats]]:
    return [("x", pair.x), ("z", pair.z), ("y", pair.y)]
