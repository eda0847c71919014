"""One algorithm on one training fold, for all its cells: draws the inputs and calls the loop."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments import loops
from experiments.cells import CellTable, Rows
from experiments.config import AlgorithmName, Algorithms
from experiments.noise import NoiseSetting
from reference.arithmetic import Matrix, Vector
from reference.baselines.dpadmm import party_noise
from reference.baselines.objp import perturbations
from reference.randomness import Seeded
from reference.schedules import PerEpoch, steps


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """The released model of each cell; for ADMM-objP also the residual on which its privacy hangs."""

    models: Matrix
    residuals: Vector | None = None


def seed_of(study_seed: int, *position: int) -> int:
    """An independent seed for each position (data set, fold, repeat, algorithm) of a study."""
    state = np.random.SeedSequence(study_seed, spawn_key=position).generate_state(2, np.uint64)
    return int(state[0])


def train(
    algorithm: AlgorithmName,
    signed: Rows,
    cells: CellTable,
    *,
    algorithms: Algorithms,
    setting: NoiseSetting,
    seed: int,
) -> TrainedModel:
    """Train every cell of an algorithm on the same batches and raw draws."""
    records, p = signed.shape
    source = Seeded(seed)
    match algorithm:
        case "ssadmm" | "dpsgd":
            chosen = algorithms.ssadmm if algorithm == "ssadmm" else algorithms.dpsgd
            m, T = setting.batch, setting.iterations(chosen.epochs)
            etas = steps(PerEpoch(float(chosen.eta0), setting.records, m), T)
            batches, draws = source.batches(records, m, T), source.noise(p, 1.0, T)
            if algorithm == "dpsgd":
                return TrainedModel(loops.dpsgd(signed, cells, etas=etas, batches=batches, draws=draws))
            rho = float(chosen.rho)
            return TrainedModel(loops.ssadmm(signed, cells, rho=rho, etas=etas, batches=batches, draws=draws))
        case "mpadmm" | "mpadmm-primal":
            primal = algorithm == "mpadmm-primal"
            model = algorithms.mpadmm_primal if primal else algorithms.mpadmm
            draws = source.noise(p if primal else 3 * p, 1.0, model.epochs)
            rho, eta = float(model.rho), float(model.eta)
            return TrainedModel(loops.mpadmm(signed, cells, rho=rho, eta=eta, draws=draws, primal_only=primal))
        case "dpadmm":
            shared = algorithms.dpadmm
            draws = party_noise(source, [1.0] * shared.parties, p, shared.epochs)
            rho, eta = float(shared.rho), float(shared.eta)
            return TrainedModel(loops.dpadmm(signed, cells, parties=shared.parties, rho=rho, eta=eta, draws=draws))
        case "objp" | "objp-once":
            solved = algorithms.objp if algorithm == "objp" else algorithms.objp_once
            drawn = perturbations(source, p, 1.0, solved.iterations)
            models, residuals = loops.objp(
                signed, cells, rho=float(solved.rho), inner_steps=solved.inner_steps, perturbations=drawn
            )
            return TrainedModel(models, residuals)
        case "dpsvrg":
            return TrainedModel(_variance_reduced(signed, cells, algorithms, setting, source))


def _variance_reduced(
    signed: Rows, cells: CellTable, algorithms: Algorithms, setting: NoiseSetting, source: Seeded
) -> Matrix:
    """Anchor and inner noise come from one stream, an epoch's anchor first, so that no draw is used twice."""
    chosen, inner = algorithms.dpsvrg, setting.iterations(1)
    records, p = signed.shape
    T = chosen.epochs * inner
    anchors, draws = itertools.tee(source.noise(p, 1.0, T + chosen.epochs))
    return loops.dpsvrg(
        signed,
        cells,
        eta=float(chosen.eta),
        inner=inner,
        anchor_draws=_every(anchors, inner + 1, first=True),
        batches=source.batches(records, setting.batch, T),
        draws=_every(draws, inner + 1, first=False),
    )


def _every(stream: Iterator[Vector], period: int, *, first: bool) -> Iterator[Vector]:
    """The first of every ``period`` draws, or all the others."""
    return (draw for k, draw in enumerate(stream) if (k % period == 0) == first)
