r"""Sources of random 64-bit words, and the two transformations that turn words into draws.

Every draw uses a *fixed* number of words, so a run's position in the stream is known in advance: run r of
R vectorised runs sees the very words that a single run r sees.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.system import Indices, Vector

Words = NDArray[np.uint64]

PHILOX_WORDS = 4  # a Philox counter value yields four words


class WordSource(Protocol):
    """An endless sequence of independent, uniform 64-bit words."""

    def words(self, count: int) -> Words:
        """The next ``count`` words."""


class SystemWords:
    """The operating system's cryptographic generator: for release."""

    def words(self, count: int) -> Words:
        """Fresh words; nobody can reproduce them."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class PhiloxWords:
    """Philox 4x64 from a seed, a purpose and a position: reproducible over processes and machines."""

    generator: np.random.Philox

    @classmethod
    def at(cls, seed: int, purpose: int, position: int = 0) -> PhiloxWords:
        """The stream of one purpose, from word ``position`` on (a multiple of 4)."""
        key = np.random.SeedSequence(seed, spawn_key=(purpose,)).generate_state(2, np.uint64)
        generator = np.random.Philox(key=key)
        generator.advance(position // PHILOX_WORDS)
        return cls(generator)

    def words(self, count: int) -> Words:
        """The next words of the stream."""
        return self.generator.random_raw(count)


def padded(words: int) -> int:
    """The next multiple of what one Philox counter yields: where the next run may start."""
    return -(-words // PHILOX_WORDS) * PHILOX_WORDS


def words_per_normals(count: int) -> int:
    """How many words ``count`` normal draws use."""
    return 2 * -(-count // 2)


def normals(words: Words, count: int) -> Vector:
    """Independent standard normal draws along the last axis, by Box and Muller, two words a pair.

    Uniforms have 53 bits, hence |draw| <= sqrt(106 log 2) = 8.6: enough to reproduce a study. For a release that must
    not trust binary64 at all there is :mod:`reference.discrete_gaussian`.
    """
    uniform = (words >> np.uint64(11)) * 2.0**-53
    half = words.shape[-1] // 2
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform[..., :half]))  # 1 - u is exact for 53 bits, and never 0
    # Cosine and sine of the angle 2 pi v from the tangent of its half: one slow function in place of two.
    tangent = np.tan(math.pi * uniform[..., half:])
    square = tangent * tangent
    radius /= 1.0 + square
    draws = np.empty(words.shape)
    np.multiply(radius, 1.0 - square, out=draws[..., :half])
    np.multiply(radius, tangent + tangent, out=draws[..., half:])
    return draws[..., :count]


def subsets(words: Words, records: int) -> Indices:
    """Uniform subsets of {0..records-1} of the size of the last axis, one word a member, by Floyd's algorithm.

    Step i draws t uniformly from 0..n-m+i and takes it, or takes n-m+i itself if t was taken before. A word modulo a
    bound b is uniform up to a total variation of b/2^64; :func:`unbiased` removes even that for releases.
    """
    rows = words.reshape(-1, words.shape[-1])
    choose = _together if len(rows) > rows.shape[1] else _one_by_one
    return choose(rows, records).reshape(words.shape)


def _together(words: Words, records: int) -> Indices:
    """Floyd's rule, one member at a time, for many subsets at once."""
    columns = np.ascontiguousarray(words.T)
    for bound, column in enumerate(columns, start=records - len(columns) + 1):
        # numpy divides many numbers by one far faster than it takes remainders.
        column[:] = column - column // np.uint64(bound) * np.uint64(bound)
    chosen = columns.astype(np.intp)
    for i in range(1, len(chosen)):
        np.putmask(chosen[i], (chosen[:i] == columns[i].view(np.int64)).any(axis=0), records - len(chosen) + i)
    return np.ascontiguousarray(chosen.T)


def _one_by_one(words: Words, records: int) -> Indices:
    """Floyd's rule for a few large subsets; where no value was drawn twice, the draws are the subset."""
    bounds = np.arange(records - words.shape[1] + 1, records + 1, dtype=np.uint64)
    draws = (words % bounds).astype(np.intp)
    ordered = np.sort(draws, axis=1)
    for row in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        chosen: dict[int, None] = {}
        for top, drawn in enumerate(draws[row].tolist(), start=records - draws.shape[1]):
            chosen[top if drawn in chosen else drawn] = None
        draws[row] = list(chosen)
    return draws


def unbiased(words: Words, records: int) -> NDArray[np.bool_]:
    """Which words are free of modulo bias: below the largest multiple of the bound that they are reduced by."""
    size = words.shape[-1]
    bounds = np.arange(records - size + 1, records + 1, dtype=np.uint64)
    # 2^64 mod b, in 64 bits: (2^64 - b) mod b.
    excess = (np.uint64(0) - bounds) % bounds
    return words <= np.uint64(0xFFFFFFFFFFFFFFFF) - excess
