"""Mechanisms that keep their claim, most of them with nothing to spare."""

from __future__ import annotations

import math

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
from verification.wire.records import Records
from verification.wire.session import Values

_RIDGE = 1.0


def gaussian_mean(records: Records, count: int, rng: np.random.Generator) -> Values:
    """The mean of the records times their labels: sensitivity 2/n."""
    std = 2.0 / records.count / claimed_mu()
    return {"mean": signed(records).mean(axis=0) + normals(rng, count, records.columns, std)}


def laplace_histogram(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A histogram: a replaced record changes two counts by one."""
    counts = bins(records)
    return {"histogram": counts + rng.laplace(0.0, 2.0 / CLAIM[0], (count, counts.size))}


def objective_perturbation(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Chaudhuri, Monteleoni and Sarwate (2011), Theorem 9, for the logistic loss: c = 1/4."""
    change = 0.25 / (records.count * _RIDGE)
    epsilon = CLAIM[0] - math.log(1.0 + 2.0 * change + change * change)
    tilt = gamma_norm(rng, count, records.columns, epsilon / 2.0) / records.count
    return {"theta": perturbed_minimum(records, _RIDGE, tilt)}


def poisson_sgd(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Private SGD under add-or-remove, Poisson sampled; priced as if every record were in every batch."""
    steps, bound = 4, 0.5
    theta, shown = np.zeros((count, records.columns)), []
    for _ in range(steps):
        each = gradients(records, theta)
        each /= np.maximum(1.0, np.linalg.norm(each, axis=2, keepdims=True) / bound)
        taken = rng.random((count, records.count)) < 0.5
        total = (each * taken[:, :, None]).sum(axis=1)
        theta = theta - 0.1 * (total + normals(rng, count, records.columns, bound * math.sqrt(steps) / claimed_mu()))
        shown.append(theta)
    return {"iterates": np.stack(shown, axis=1)}


def randomised_response(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Every label, each kept with probability e/(1 + e); nothing else is released."""
    kept = rng.random((count, records.count)) < 1.0 / (1.0 + math.exp(-CLAIM[0]))
    return {"labels": np.where(kept, records.labels, -records.labels).astype(np.float64)}


def two_parties(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Two parties release the means of their records, each with noise of its own, and a server the average."""
    half = records.count // 2
    rows = signed(records)
    std = 2.0 / half / claimed_mu()
    left = rows[:half].mean(axis=0) + normals(rng, count, records.columns, std)
    right = rows[half:].mean(axis=0) + normals(rng, count, records.columns, std)
    return {"left": left, "right": right, "average": 0.5 * (left + right)}


def descended_objective(records: Records, count: int, rng: np.random.Generator) -> Values:
    """The same objective, by steps of descent from the minimum without noise until nothing moves any more."""
    change = 0.25 / (records.count * _RIDGE)
    epsilon = CLAIM[0] - math.log(1.0 + 2.0 * change + change * change)
    tilt = gamma_norm(rng, count, records.columns, epsilon / 2.0) / records.count
    theta = np.repeat(perturbed_minimum(records, _RIDGE, np.zeros((1, records.columns))), count, axis=0)
    for _ in range(60):
        theta = theta - 0.8 * (gradients(records, theta).mean(axis=1) + _RIDGE * theta + tilt)
    return {"theta": theta}


def laplace_mean(records: Records, count: int, rng: np.random.Generator) -> Values:
    """A mean of many features with Laplace noise for the norm by which it was clipped."""
    noise = rng.laplace(0.0, 2.0 / records.count / CLAIM[0], (count, records.columns))
    return {"mean": clipped(signed(records), 1.0, order=1).mean(axis=0) + noise}


def five_means(records: Records, count: int, rng: np.random.Generator) -> Values:
    """Five noisy means, with a variance that pays for all."""
    std = 2.0 / records.count / claimed_mu() * math.sqrt(5.0)
    return {"means": signed(records).mean(axis=0) + rng.normal(0.0, std, (count, 5, records.columns))}


def clipped_mean(records: Records, count: int, rng: np.random.Generator) -> Values:
    """The mean of records of any length, each clipped first."""
    noise = normals(rng, count, records.columns, 2.0 / records.count / claimed_mu())
    return {"mean": clipped(signed(records), 1.0).mean(axis=0) + noise}


HONEST = (
    BoxedSubject("gaussian-mean", "a mean with Gaussian noise", gaussian_mean),
    BoxedSubject("laplace-histogram", "a histogram with Laplace noise", laplace_histogram),
    BoxedSubject("objective-perturbation", "logistic regression, its objective perturbed", objective_perturbation),
    BoxedSubject("poisson-sgd", "private SGD with Poisson sampling", poisson_sgd, Neighbours.ADD_OR_REMOVE),
    BoxedSubject("randomised-response", "labels by randomised response", randomised_response),
    BoxedSubject("two-parties", "two parties with noise of their own", two_parties),
    BoxedSubject("descended-objective", "a perturbed objective, solved by descent", descended_objective),
    BoxedSubject("laplace-mean", "a mean of many features with Laplace noise", laplace_mean, columns=16),
    BoxedSubject("five-means", "five means with Gaussian noise", five_means),
    BoxedSubject("clipped-mean", "a mean of clipped records", clipped_mean, bounds=True),
)
