"""Implementations of epochs, honest and wrong: ``python -m tests.zoo.epochs NAME`` serves one on stdin and stdout.

They are asked for batches by epochs (`sampling` on the wire), which the members of the register are not.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from reference.problem import Problem
from tests.zoo.per_record import weighted_gradients
from verification.served.serve import serve
from verification.served.stepwise import Batches, StepwiseBaselines, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm


class Epochs(StepwiseBaselines):
    """The honest reference."""

    algorithms = (Algorithm.SSADMM,)


class OneOrderARun(Epochs):
    """A random order that each run draws once and keeps: honest under a fixed order, and different."""

    def draw_epochs(
        self, random: TrialRandomness, records: int, size: int, iterations: int, *, shuffle: bool
    ) -> Batches:
        """The order of the records, renamed in each run."""
        stays = super().draw_epochs(random, records, size, iterations, shuffle=False)
        rng = np.random.default_rng(random.seed)
        return np.stack([rng.permutation(records)[batches] for batches in stays])


class FreshBatches(Epochs):
    """Claims epochs and samples anew in every iteration: a record may come twice in what is called an epoch."""

    def draw_epochs(
        self, random: TrialRandomness, records: int, size: int, iterations: int, *, shuffle: bool
    ) -> Batches:
        """Fresh batches."""
        return self.draw_batches(random, records, size, iterations)


class TwoStepsABatch(Epochs):
    """Takes two steps on every batch: each record is visited twice an epoch.

    Source: class seen where gradients are taken again after a local step.
    """

    def draw_epochs(
        self, random: TrialRandomness, records: int, size: int, iterations: int, *, shuffle: bool
    ) -> Batches:
        """Every batch twice."""
        half = super().draw_epochs(random, records, size, (iterations + 1) // 2, shuffle=shuffle)
        return np.repeat(half, 2, axis=1)[:, :iterations]


class ShortLastBatch(Epochs):
    """Keeps the remainder as a short last batch and divides by its size: a record there weighs more.

    Source: class seen with data loaders whose `drop_last` is left at its default, false.
    """

    def draw_epochs(
        self, random: TrialRandomness, records: int, size: int, iterations: int, *, shuffle: bool
    ) -> Batches:
        """All records in turn; a short batch is padded with n for nobody."""
        del shuffle
        per_epoch = -(-records // size)
        padded = np.full(per_epoch * size, records)
        padded[:records] = np.arange(records)
        rows = padded.reshape(per_epoch, size)[np.arange(iterations) % per_epoch]
        return np.broadcast_to(rows, (random.runs, iterations, size))

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The mean over those who are there."""
        if batch is None:
            return super().gradient(problem, x, batch)
        weights = np.zeros((len(batch), problem.records + 1))
        there = (batch < problem.records).sum(axis=1, keepdims=True)
        np.put_along_axis(weights, batch, 1.0 / there, axis=1)
        return weighted_gradients(problem, x, weights[:, :-1])


class OneOrderForAll(Epochs):
    """Calls it a shuffle and keeps one order in all epochs and runs: no more is lost than is priced."""

    def draw_epochs(
        self, random: TrialRandomness, records: int, size: int, iterations: int, *, shuffle: bool
    ) -> Batches:
        """The order of the records."""
        del shuffle
        return super().draw_epochs(random, records, size, iterations, shuffle=False)


MEMBERS: Mapping[str, type[Epochs]] = {
    "honest": Epochs,
    "one-order-a-run": OneOrderARun,
    "fresh-batches": FreshBatches,
    "two-steps-a-batch": TwoStepsABatch,
    "short-last-batch": ShortLastBatch,
    "one-order-for-all": OneOrderForAll,
}

if __name__ == "__main__":
    serve(MEMBERS[sys.argv[1]]())
