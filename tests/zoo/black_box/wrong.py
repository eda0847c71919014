"""Mechanisms that leak more than they claim, each in its own way."""

from __future__ import annotations

import numpy as np

from accountant.mechanisms.words import Neighbours
from tests.zoo.black_box.subject import (
    CLAIM,
    BoxedSubject,
    bins,
    claimed_mu,
    clipped,
    gamma_norm,
    gradients,
    normals,
    perturbed_minimum,
    signed,
)
from verification.neighbours.families import Domain, library
from verification.wire.arrays import Floats
from verification.wire.records import Records
from verification.wire.session import Values

_RIDGE = 1.0
_STEP = 0.5


def output_over_n(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Output perturbation of regularised logistic regression, the noise divided by n once too often."""
    exact = perturbed_minimum(records, _RIDGE, np.zeros((1, records.columns)))
    sensitivity = 2.0 / (records.count * _RIDGE)
    return {"theta": exact + normals(rng, count, records.columns, sensitivity / claimed_mu() / records.count)}


def objective_over_n(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Objective perturbation, the random term divided by n twice."""
    tilt = gamma_norm(rng, count, records.columns, CLAIM[0] / 2.0) / records.count**2
    return {"theta": perturbed_minimum(records, _RIDGE, tilt)}


def laplace_every_step(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Gradient descent with Laplace noise: every one of eight steps spends the whole epsilon."""
    bound = 0.25
    theta, shown = np.zeros((count, records.columns)), []
    for _ in range(8):
        each = gradients(records, theta)
        each /= np.maximum(1.0, np.abs(each).sum(axis=2, keepdims=True) / bound)
        noise = rng.laplace(0.0, 2.0 * bound / records.count / CLAIM[0], theta.shape)
        theta = theta - _STEP * (each.mean(axis=1) + noise)
        shown.append(theta)
    return {"iterates": np.stack(shown, axis=1)}


def shared_draw(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Two parties release the means of their records; both add one and the same draw."""
    half = records.count // 2
    rows = signed(records)
    noise = normals(rng, count, records.columns, 2.0 / half / claimed_mu())
    return {"left": rows[:half].mean(axis=0) + noise, "right": rows[half:].mean(axis=0) + noise}


def clip_of_mean(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Private SGD that clips the mean gradient of a batch, not each record's, with noise as if it had."""
    steps, bound, rate = 6, 0.03, 0.8
    theta, shown = np.zeros((count, records.columns)), []
    for _ in range(steps):
        taken = rng.random((count, records.count)) < rate
        mean = (gradients(records, theta) * taken[:, :, None]).sum(axis=1) / (rate * records.count)
        mean /= np.maximum(1.0, np.linalg.norm(mean, axis=1, keepdims=True) / bound)
        std = 2.0 * bound / (rate * records.count) * np.sqrt(steps) / claimed_mu()
        theta = theta - _STEP * (mean + normals(rng, count, records.columns, std))
        shown.append(theta)
    return {"iterates": np.stack(shown, axis=1)}


def exact_gram(records: Records, count: int, rng: np.random.Generator) -> Values:
    """One-shot ridge regression: noise on X'y only, X'X is used as it is."""
    moments = signed(records).sum(axis=0) + normals(rng, count, records.columns, 2.0 / claimed_mu())
    gram = records.features.T @ records.features + 0.01 * np.eye(records.columns)
    return {"theta": np.linalg.solve(gram, moments.T).T}


def noise_where_not_empty(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A histogram with Laplace noise on the bins that hold a record; empty ones are left out of the noise."""
    counts = bins(records)
    return {"histogram": counts + (counts > 0) * rng.laplace(0.0, 2.0 / CLAIM[0], (count, counts.size))}


def rare_leak(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A noisy mean, and in three runs of a hundred the mean itself."""
    noise = normals(rng, count, records.columns, 2.0 / records.count / claimed_mu())
    return {"mean": signed(records).mean(axis=0) + noise * (rng.random((count, 1)) >= 0.03)}


def exact_count(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A noisy sum under add-or-remove, released with the exact number of records."""
    noisy = signed(records).sum(axis=0) + normals(rng, count, records.columns, 1.0 / claimed_mu())
    return {"sum": noisy, "records": np.full((count, 1), float(records.count))}


def diagnostic(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A noisy mean, beside it a diagnostic from which the noise can be subtracted again."""
    noise = normals(rng, count, records.columns, 2.0 / records.count / claimed_mu())
    return {"mean": signed(records).mean(axis=0) + noise, "diagnostic": 3.0 * noise @ _turn(records.columns)}


def _turn(size: int) -> Floats:
    """A fixed rotation."""
    return np.asarray(np.linalg.qr(np.arange(1.0, size**2 + 1).reshape(size, size) ** 0.5)[0])


def scale_of_data(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Noise scaled to the longest record that is there, not to the longest that could be."""
    longest = float(np.linalg.norm(records.features, axis=1).max(initial=0.0))
    std = 2.0 * (longest + 1e-3) / records.count / claimed_mu()
    return {"mean": signed(records).mean(axis=0) + normals(rng, count, records.columns, std)}


def steps_of_data(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Noisy gradient descent of as many steps as a run without noise needs to a small gradient."""
    theta, steps = np.zeros((1, records.columns)), 1
    while steps < 40:
        mean = gradients(records, theta).mean(axis=1) + 0.1 * theta
        if float(np.linalg.norm(mean)) < 0.02:
            break
        theta, steps = theta - mean, steps + 1
    model = np.zeros((count, records.columns))
    for _ in range(steps):
        std = 2.0 / records.count * np.sqrt(40.0) / claimed_mu()
        model = model - gradients(records, model).mean(axis=1) - normals(rng, count, records.columns, std)
    return {"model": model, "steps": np.full((count, 1), float(steps))}


def sensitivity_over_four(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A mean with Gaussian noise for a fourth of its sensitivity."""
    return {
        "mean": signed(records).mean(axis=0) + normals(rng, count, records.columns, 0.5 / records.count / claimed_mu())
    }


def objective_short_noise(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Objective perturbation, the random term six times too short."""
    return {
        "theta": perturbed_minimum(
            records, _RIDGE, gamma_norm(rng, count, records.columns, 3.0 * CLAIM[0]) / records.count
        )
    }


def unsolved_objective(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Objective perturbation by two steps of descent from the minimum without noise: a sixth of the noise arrives."""
    tilt = gamma_norm(rng, count, records.columns, CLAIM[0] / 2.0) / records.count
    theta = np.repeat(perturbed_minimum(records, _RIDGE, np.zeros((1, records.columns))), count, axis=0)
    for _ in range(2):
        theta = theta - 0.08 * (gradients(records, theta).mean(axis=1) + _RIDGE * theta + tilt)
    return {"theta": theta}


def drawn_batch_size(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Private SGD for about 160 records that divides by the size of the drawn batch, not by the expected one."""
    steps, bound, rate, expected = 4, 0.5, 0.25, 40.0
    theta, shown = np.zeros((count, records.columns)), []
    for _ in range(steps):
        taken = rng.random((count, records.count)) < rate
        total = (clipped(gradients(records, theta), bound) * taken[:, :, None]).sum(axis=1)
        std = bound * np.sqrt(steps) / expected / claimed_mu()
        drawn = np.maximum(taken.sum(axis=1, keepdims=True), 1)
        theta = theta - 0.1 * (total / drawn + normals(rng, count, records.columns, std))
        shown.append(theta)
    return {"iterates": np.stack(shown, axis=1)}


def clip_of_another_norm(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A mean with Laplace noise for the Euclidean sensitivity, where that of the sum of sizes counts."""
    noise = rng.laplace(0.0, 2.0 / records.count / CLAIM[0], (count, records.columns))
    return {"mean": clipped(signed(records), 1.0).mean(axis=0) + noise}


def composition_inverted(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Five noisy means, the variance of each divided by five where it should be multiplied."""
    std = 2.0 / records.count / claimed_mu() / np.sqrt(5.0)
    return {"means": signed(records).mean(axis=0) + rng.normal(0.0, std, (count, 5, records.columns))}


def clip_multiplies(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A mean of records of any length: each is multiplied by min(C, its norm) where it should be scaled to it."""
    rows = signed(records) * np.minimum(1.0, np.linalg.norm(records.features, axis=1, keepdims=True))
    return {"mean": rows.mean(axis=0) + normals(rng, count, records.columns, 2.0 / records.count / claimed_mu())}


def _laplace_ratio(values: Values) -> Floats:
    """The log-likelihood ratio of Laplace noise, up to a factor: each step's noisy gradient, cut at the shift."""
    shift = 0.25 / 12.0
    moved = np.diff(values["iterates"][:, :, 0], axis=1, prepend=0.0) / -_STEP
    return np.asarray(np.clip(moved, -shift, shift).sum(axis=1))


def _exact_outlier() -> float:
    return float(signed(library(Domain())[0].first)[:, 0].mean())


WRONG = (
    BoxedSubject(
        "output-over-n",
        "noise of output perturbation divided by n twice",
        output_over_n,
        pair="outlier",
        statistic=lambda v: v["theta"][:, 0],
    ),
    BoxedSubject(
        "objective-over-n",
        "noise of objective perturbation divided by n twice",
        objective_over_n,
        pair="label flip",
        statistic=lambda v: v["theta"][:, 0],
    ),
    BoxedSubject(
        "laplace-every-step",
        "every step spends the whole epsilon",
        laplace_every_step,
        pair="outlier",
        statistic=_laplace_ratio,
    ),
    BoxedSubject(
        "shared-draw",
        "two parties add one draw",
        shared_draw,
        pair="outlier",
        statistic=lambda v: (v["left"] - v["right"])[:, 0],
    ),
    BoxedSubject(
        "clip-of-mean",
        "the mean is clipped, not each record",
        clip_of_mean,
        pair="outlier",
        statistic=lambda v: v["iterates"][:, -1, 0],
    ),
    BoxedSubject(
        "exact-gram", "X'X without noise", exact_gram, pair="sparse", statistic=lambda v: -np.abs(v["theta"][:, 0])
    ),
    BoxedSubject(
        "noise-where-not-empty",
        "empty bins get no noise",
        noise_where_not_empty,
        pair="duplicated",
        statistic=lambda v: (v["histogram"] != 0.0).sum(axis=1).astype(np.float64),
    ),
    BoxedSubject(
        "rare-leak",
        "three runs of a hundred have no noise",
        rare_leak,
        pair="outlier",
        statistic=lambda v: (np.abs(v["mean"][:, 0] - _exact_outlier()) < 1e-12).astype(np.float64),
    ),
    BoxedSubject(
        "exact-count",
        "the number of records without noise",
        exact_count,
        Neighbours.ADD_OR_REMOVE,
        pair="outlier",
        statistic=lambda v: v["records"][:, 0],
    ),
    BoxedSubject(
        "noise-subtracted",
        "a second output gives the noise away",
        diagnostic,
        pair="outlier",
        statistic=lambda v: (v["mean"] - v["diagnostic"] @ _turn(3).T / 3.0)[:, 0],
    ),
    BoxedSubject(
        "scale-of-data",
        "noise scaled to the data",
        scale_of_data,
        pair="present or empty",
        statistic=lambda v: np.abs(v["mean"][:, 1]),
    ),
    BoxedSubject(
        "steps-of-data",
        "the number of steps follows from the data",
        steps_of_data,
        pair="duplicated",
        statistic=lambda v: v["steps"][:, 0],
    ),
    BoxedSubject(
        "sensitivity-over-four",
        "noise for a fourth of the sensitivity",
        sensitivity_over_four,
        pair="outlier",
        statistic=lambda v: v["mean"][:, 0],
        least=2.5,
    ),
    BoxedSubject(
        "objective-short-noise",
        "noise of objective perturbation six times too short",
        objective_short_noise,
        pair="outlier",
        statistic=lambda v: v["theta"][:, 0],
        least=2.2,
    ),
    BoxedSubject(
        "unsolved-objective",
        "a perturbed objective, not solved from a start that knows the data",
        unsolved_objective,
        pair="outlier",
        statistic=lambda v: v["theta"][:, 0],
        least=2.2,
    ),
    BoxedSubject(
        "drawn-batch-size",
        "a sum over the size of the drawn batch",
        drawn_batch_size,
        Neighbours.ADD_OR_REMOVE,
        pair="present or empty",
        statistic=lambda v: v["iterates"][:, -1, 0],
    ),
    BoxedSubject(
        "clip-of-another-norm",
        "Laplace noise for the Euclidean norm",
        clip_of_another_norm,
        pair="diagonal",
        statistic=lambda v: v["mean"].sum(axis=1),
        least=1.3,
        columns=16,
    ),
    BoxedSubject(
        "composition-inverted",
        "the variance of five releases divided by five",
        composition_inverted,
        pair="outlier",
        statistic=lambda v: v["means"][:, :, 0].mean(axis=1),
        least=3.0,
    ),
    BoxedSubject(
        "clip-multiplies",
        "a clip that multiplies long records",
        clip_multiplies,
        pair="long",
        statistic=lambda v: v["mean"][:, 0],
        bounds=True,
    ),
)
