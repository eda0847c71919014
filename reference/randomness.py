r"""Sources of batches and noise: seeded for reproduction, or the system's entropy for release.

The algorithms take batches and noise as inputs. These shells supply them, a block of iterations at a time:

* :class:`Seeded` is counter-based. Run r of a seed draws the same numbers whether it runs alone, in another process,
  or as one of ten thousand in :mod:`reference.vectorised`.
* :class:`Entropy` is for releases: no seed exists that could leak. Its batches are exactly uniform.

Batches are without replacement and fresh in every iteration: what the accountant assumes (E18); or, by epochs, the
next floor(n/m) disjoint batches of an order that stays (`in_order`) or is drawn anew (`shuffled`), the rest left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.system import Indices, Vector
from reference.errors import require_count, require_index, require_not_negative
from reference.mpadmm import ModelNoise, Release
from reference.words import (
    PhiloxWords,
    SystemWords,
    Words,
    WordSource,
    normals,
    padded,
    subsets,
    unbiased,
    words_per_normals,
)

Entry = TypeVar("Entry", bound=np.generic)

BATCHES, NOISE = 0, 1  # the purposes that a seed is split by
BLOCK = 64  # iterations drawn at once: enough that numpy's call overhead disappears, little enough to fit the cache


class Randomness(Protocol):
    """Supplies the random inputs of the algorithms."""

    def batches(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Fresh uniform batches without replacement."""

    def shuffled(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """The batches of epochs, each in a fresh uniform order."""

    def noise(self, dimension: int, sigma: float, iterations: int) -> Iterator[Vector]:
        """Independent vectors of N(0, sigma^2) entries."""


def in_order(records: int, size: int, iterations: int) -> Iterator[Indices]:
    """The batches of epochs in the order in which the records stand, always the same."""
    require_batch(records, size, iterations)
    whole = np.arange(records // size * size).reshape(-1, size)
    return (whole[k % len(whole)] for k in range(iterations))


def _epochs(source: WordSource, records: int, size: int, iterations: int) -> Iterator[Indices]:
    """Cut a uniform order of all records into batches, one order after the other: words are sorted, none is equal."""
    each = records // size
    for start in range(0, iterations, each):
        order = np.argsort(source.words(records), kind="stable")
        yield from order[: each * size].reshape(each, size)[: iterations - start]


def model_noise(
    randomness: Randomness, dimension: int, sigma: float, epochs: int, release: Release
) -> Iterator[ModelNoise]:
    """The noise of mpADMM: three vectors an epoch for ``Release.ALL``, one for ``Release.PRIMAL``."""
    if release is Release.PRIMAL:
        return (ModelNoise(gamma) for gamma in randomness.noise(dimension, sigma, epochs))
    stacked = randomness.noise(3 * dimension, sigma, epochs)
    return (ModelNoise(*np.split(gamma, 3)) for gamma in stacked)


@dataclass(frozen=True, slots=True)
class Seeded:
    """The draws of run ``run`` of a seed."""

    seed: int
    run: int = 0

    def __post_init__(self) -> None:
        require_index("seed", self.seed)
        require_index("run", self.run)

    def batches(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Reproducible batches."""
        require_batch(records, size, iterations)
        source = PhiloxWords.at(self.seed, BATCHES, self.run * padded(iterations * size))
        return _rows(subsets(block, records) for block in _blocks(source, iterations, size))

    def shuffled(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Reproducible epochs."""
        require_batch(records, size, iterations)
        per_run = padded(-(-iterations // (records // size)) * records)
        return _epochs(PhiloxWords.at(self.seed, BATCHES, self.run * per_run), records, size, iterations)

    def noise(self, dimension: int, sigma: float, iterations: int) -> Iterator[Vector]:
        """Reproducible noise."""
        require_noise(dimension, sigma, iterations)
        width = words_per_normals(dimension)
        source = PhiloxWords.at(self.seed, NOISE, self.run * padded(iterations * width))
        return _rows(sigma * normals(block, dimension) for block in _blocks(source, iterations, width))


@dataclass(frozen=True, slots=True)
class Entropy:
    """Draws from the system's entropy, which cannot be repeated."""

    source: WordSource = field(default_factory=SystemWords)

    def batches(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Exactly uniform batches: words with modulo bias are drawn again."""
        require_batch(records, size, iterations)
        return _rows(subsets(self._unbiased(block, records), records) for block in self._blocks(iterations, size))

    def shuffled(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Epochs whose order nobody can repeat."""
        require_batch(records, size, iterations)
        return _epochs(self.source, records, size, iterations)

    def noise(self, dimension: int, sigma: float, iterations: int) -> Iterator[Vector]:
        """Unpredictable noise."""
        require_noise(dimension, sigma, iterations)
        blocks = self._blocks(iterations, words_per_normals(dimension))
        return _rows(sigma * normals(block, dimension) for block in blocks)

    def _blocks(self, iterations: int, width: int) -> Iterator[Words]:
        return _blocks(self.source, iterations, width)

    def _unbiased(self, words: Words, records: int) -> Words:
        good = unbiased(words, records)
        while not good.all():
            words = np.where(good, words, self.source.words(words.size).reshape(words.shape))
            good = unbiased(words, records)
        return words


def seeded_batches(seed: int, runs: range, records: int, size: int, iterations: int) -> NDArray[np.intp]:
    """The batches of :class:`reference.randomness.Seeded`, runs x iterations x size."""
    require_batch(records, size, iterations)
    return subsets(_run_words(seed, BATCHES, runs, iterations, size), records)


def seeded_noise(seed: int, runs: range, dimension: int, sigma: float, iterations: int) -> Vector:
    """The noise of :class:`reference.randomness.Seeded`, runs x iterations x dimension."""
    require_noise(dimension, sigma, iterations)
    noise = normals(_run_words(seed, NOISE, runs, iterations, words_per_normals(dimension)), dimension)
    noise *= sigma
    return noise


def _run_words(seed: int, purpose: int, runs: range, iterations: int, width: int) -> Words:
    per_run = padded(iterations * width)
    words = PhiloxWords.at(seed, purpose, runs.start * per_run).words(len(runs) * per_run)
    return words.reshape(len(runs), per_run)[:, : iterations * width].reshape(len(runs), iterations, width)


def _blocks(source: WordSource, iterations: int, width: int) -> Iterator[Words]:
    for start in range(0, iterations, BLOCK):
        count = min(BLOCK, iterations - start)
        yield source.words(count * width).reshape(count, width)


def _rows(blocks: Iterator[NDArray[Entry]]) -> Iterator[NDArray[Entry]]:
    return itertools.chain.from_iterable(blocks)


def require_batch(records: int, size: int, iterations: int) -> None:
    """Refuse impossible batches."""
    require_count("records", records)
    require_count("batch", size, at_most=records)
    require_count("iterations", iterations)


def require_noise(dimension: int, sigma: float, iterations: int) -> None:
    """Refuse impossible noise."""
    require_count("dimension", dimension)
    require_not_negative("sigma", sigma)
    require_count("iterations", iterations)
