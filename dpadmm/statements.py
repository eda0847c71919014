"""Every statement of this project: those of `verification`, VILLE, which runs the audits' bets, and TRAINING, below."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import accountant
from accountant.mechanisms.steps import GaussianStep, SubsampledGaussianStep
from accountant.mechanisms.words import Algorithm, Noise, Sampling
from accountant.numbers import fraction_of
from audits.eprocess.ville import VILLE
from dpadmm.cli import train_run
from dpadmm.cli.train import Choices
from dpadmm.loaders import Loaded
from dpadmm.loaders.common import numbered_columns
from dpadmm.privacy import PrivateRun
from dpadmm.training import SAMPLINGS, Training, randomness_for
from reference.dataset import Dataset
from reference.discrete_gaussian import ExactEntropy
from reference.losses import HuberizedHinge
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.randomness import Entropy, Seeded, in_order
from reference.regularizers import L1, SCAD
from reference.schedules import Constant, PerEpoch, Schedule
from reference.ssadmm import ssadmm
from reference.words import SystemWords
from verification.statements import registry
from verification.statements.evidence.draws import Numbered, require, walked, with_names
from verification.statements.model import Statement, Status

RECORDS, DIMENSION, BATCH, ITERATIONS, SIGMA, CLIP, LAM, RHO, ETA = 9, 3, 4, 5, 1.5, 0.75, 0.05, 0.5, 0.25
DATA = np.random.default_rng(26).normal(size=(RECORDS, DIMENSION)), np.where(np.arange(RECORDS) % 3, 1.0, -1.0)


def _trainings() -> Iterator[Training]:
    for grid in (None, 2.0**-4):
        for sampling in SAMPLINGS:
            schedule = PerEpoch(ETA, RECORDS, BATCH)
            yield Training(Algorithm.SSADMM, schedule, ITERATIONS, BATCH, Release.PRIMAL, grid, sampling)
        schedules: tuple[Schedule, ...] = Constant(ETA), PerEpoch(ETA, RECORDS, RECORDS)
        for release, steps in itertools.product(Release, schedules):
            yield Training(Algorithm.MPADMM, steps, ITERATIONS, RECORDS, release, grid)


def _wanted(training: Training, problem: Problem) -> list[State]:
    """The paper's algorithm on all the noise, all the steps and the grid of a run, written out."""
    source, start = Numbered(), State.zero(DIMENSION)
    etas = [training.schedule.step(k) for k in range(ITERATIONS)]
    if training.algorithm is Algorithm.MPADMM:
        parts = 3 if training.release is Release.ALL else 1
        gammas = [ModelNoise(*np.split(g, parts)) for g in source.noise(parts * DIMENSION, SIGMA, ITERATIONS)]
        release, grid = training.release, training.grid
        return list(mpadmm(problem, start, step_sizes=etas, noise=gammas, release=release, grid=grid))
    draw = {
        Sampling.WITHOUT_REPLACEMENT: source.batches, Sampling.SHUFFLE: source.shuffled, Sampling.FIXED_ORDER: in_order
    }[training.sampling]  # fmt: skip
    noise, batches = source.noise(DIMENSION, SIGMA, ITERATIONS), draw(RECORDS, BATCH, ITERATIONS)
    return list(ssadmm(problem, start, step_sizes=etas, batches=batches, noise=noise, grid=training.grid))


def _same(ran: list[State], wanted: list[State]) -> bool:
    return len(ran) == len(wanted) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for a, b in zip(ran, wanted, strict=True) for name in "xzy"
    )


def _moves(training: Training, k: int, L: float) -> float:
    """How far one record moves what iteration k releases, the grid's share (that of the shortest step) included."""
    eta, shortest = training.schedule.step(k), training.schedule.step(ITERATIONS - 1)
    every = training.algorithm is Algorithm.MPADMM and training.release is Release.ALL
    joint = math.sqrt(1 + max(RHO**2, L**2 + RHO**2 * (L - 1) ** 2)) if every else 1.0
    rounded = (training.grid or 0.0) * math.sqrt((3 if every else 1) * DIMENSION)
    if training.algorithm is Algorithm.SSADMM:
        return 2 * CLIP / BATCH + rounded
    return (joint * 2 * CLIP / RECORDS + rounded * (RHO + 1 / shortest)) / (RHO + 1 / eta)


def _price(run: PrivateRun, name: str) -> None:
    """Every iteration is priced at what it releases, under the noise that is drawn."""
    training, visits = run.training, 0
    for step in run.mechanism(Fraction(SIGMA)).ledger().steps:
        if not isinstance(step, GaussianStep | SubsampledGaussianStep):
            raise TypeError(f"a run of ADMM is priced in Gaussian steps, got {step}")
        for k in range(visits, visits := visits + step.count):
            share = math.sqrt(step.ratio_squared) * SIGMA / _moves(training, k, run.regularizer.lipschitz(RHO))
            require(1 - 1e-12 <= share <= 1 + 1e-6, f"{name}: {k} is priced at {share} times what a record moves")
        require((step.noise is Noise.DISCRETE) == (training.grid is not None), f"{name}: another noise is priced")
        if isinstance(step, SubsampledGaussianStep):
            require(step.sampling_rate == Fraction(BATCH, RECORDS), f"{name}: priced at rate {step.sampling_rate}")
    epochs = -(-ITERATIONS // (RECORDS // BATCH)) if training.sampling.by_epochs else ITERATIONS
    require(visits == epochs, f"{name}: {visits} releases are priced")


def _shells() -> int:
    """What a run releases is the algorithm's, and what it is priced at is that."""
    problem, looked = Problem.of(Dataset.of(*DATA), HuberizedHinge(), L1(LAM), rho=RHO, clip=CLIP), 0
    for training in _trainings():
        name, source = f"{training.algorithm}, {training.sampling}, grid {training.grid}", Numbered()
        ran, looked = list(training.states(problem, SIGMA, source)), looked + ITERATIONS
        require(_same(ran, _wanted(training, problem)), f"{name}: the run is not the algorithm's")
        require([asked[1:] for asked in source.asked] == [(SIGMA, ITERATIONS)], f"{name}: noise of {source.asked}")
        for regularizer in (problem.regularizer, SCAD(LAM)):
            _price(PrivateRun(training, RECORDS, DIMENSION, RHO, CLIP, regularizer), f"{name}, {regularizer.name}")
    sources = randomness_for(None, None), randomness_for(7, None), randomness_for(None, 0.5)
    system = isinstance(sources[0], Entropy) and isinstance(sources[0].source, SystemWords)
    require(system and sources[1:] == (Seeded(7), ExactEntropy(0.5)), f"a run draws from {sources}")
    return looked


def _choices(training: Training) -> Choices:
    """What is typed for such a run."""
    ssadmm_runs = training.algorithm is Algorithm.SSADMM
    return Choices(
        algorithm=training.algorithm.value, loss="huber", regularizer="l1", lam=LAM, l1_ratio=0.5, a=3.7, gamma=3.0,
        groups=(), matrix=(1, 1), rho=RHO, eta=ETA,
        schedule="constant" if isinstance(training.schedule, Constant) else "per-epoch",
        batch=BATCH if ssadmm_runs else None, sampling=training.sampling.value, iterations=ITERATIONS, sigma=SIGMA,
        epsilon=None, delta=None, effort="quick", clip=CLIP, normalise=False, intercept=False, bounds=(), seed=None,
        noise="gaussian" if training.grid is None else "discrete", grid=training.grid, release=training.release.value,
        output_kind="last",
    )  # fmt: skip


def _commands() -> int:
    """`dpadmm train` hands on what was typed, and draws the noise that its target needs."""
    problem, looked = Problem.of(Dataset.of(*DATA), HuberizedHinge(), L1(LAM), rho=RHO, clip=CLIP), 0
    loaded = Loaded(*DATA, ("-1", "1"), numbered_columns(DIMENSION))
    for training in _trainings():
        name, typed = f"{training.algorithm}, {training.sampling}, grid {training.grid}", _choices(training)
        trained, [sigma] = _trained(loaded, typed)
        same = np.array_equal(trained.saved.coefficients, _wanted(training, problem)[-1].x)
        require(same and trained.training == training and sigma == SIGMA, f"{name}: `dpadmm train` runs another thing")
        trained, [sigma] = _trained(loaded, replace(typed, sigma=None, epsilon="2", delta="1e-5"))
        run = PrivateRun(training, RECORDS, DIMENSION, RHO, CLIP, problem.regularizer)
        costs = accountant.epsilon(run.mechanism(Fraction(sigma)), "1e-5", effort="standard").epsilon.upper
        require(fraction_of(costs) <= 2, f"{name}: for epsilon = 2 noise of {sigma} is drawn, which costs {costs}")
        looked += 2
    return looked


def _trained(loaded: Loaded, typed: Choices) -> tuple[train_run.Trained, list[float]]:
    """A run of the command on numbered noise, and the noise that it asked for; nothing is written."""
    source = Numbered()

    def numbered(*choices: float | None) -> Numbered:
        require(choices == (typed.seed, typed.grid), f"the noise is chosen by {choices}")
        return source

    command = with_names(train_run.train, randomness_for=numbered, _write=lambda *_: None)
    return command(loaded, typed, Path(), Path(), trace=False), [sigma for _, sigma, _ in source.asked]


TRAINING = Statement(
    "TRAINING",
    "A run of `dpadmm train` is the paper's algorithm with all the noise, steps, batches and grid of its price.",
    "not in the paper: the command that releases a model",
    Status.ENCLOSED,
    (
        walked("runs beside the algorithms", "iterates", _shells),
        walked("`dpadmm train` beside its choices", "runs", _commands),
    ),
)

BY_NAME = registry.registry(VILLE, TRAINING)
STATEMENTS = tuple(dict.fromkeys(BY_NAME.values()))
find = functools.partial(registry.find, known=BY_NAME)
