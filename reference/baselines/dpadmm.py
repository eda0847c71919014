r"""DP-ADMM: parties that hold the data send noisy models to a centre. Huang, Hu, Guo, Chan-Tin and Gong 2019.

The parties minimise sum_i w_i f_i(x_i) + lambda h(z) under x_i = z, where f_i is the mean loss of party i's n_i
records and w_i = n_i/n, so that the sum is the mean loss of all records. With the multipliers scaled by w_i,

    x_i <- (-g_i - y_i + rho z + x_i/eta) / (rho + 1/eta) + gamma_i      the linearised step, on all its records
    z   <- prox_{lambda/rho}(sum_i w_i (x_i + y_i/rho))
    y_i <- y_i + rho (x_i - z)

For equal parties the sum is the plain mean. Only the noisy x_i leave a party; z and the y_i follow from them.
A record lives in one party, and replacing it moves that party's x_i by at most 2C eta/(n_i (1 + eta rho)) before
the noise: the cost is one party's Gaussian composition, with no amplification.

``Consensus.PLAIN`` is the variant in which the penalty sits with the parties and the centre only averages:

    x_i <- prox_{lambda s}((-g_i - y_i + rho z + x_i/eta) / (rho + 1/eta) + gamma_i),     s = eta/(1 + eta rho)
    z   <- sum_i w_i (x_i + y_i/rho)

The noise goes in before the threshold, which is then post-processing, so the sensitivity is the same. Only here does
a single party reduce to DP-SGD on all records (with step s), as [CL20] section 5.4 remarks of DP-ADMM.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reference.arithmetic import Matrix, Scalar, Vector, number_system
from reference.errors import InvalidParameter, is_number, require_count, require_not_negative
from reference.problem import Problem, State
from reference.randomness import Randomness
from reference.rounding import on_grid
from reference.updates import update_x, update_y


class Consensus(enum.Enum):
    """Who applies the penalty."""

    PROXIMAL = "proximal"
    PLAIN = "plain"


def split(problem: Problem, parties: int) -> tuple[Problem, ...]:
    """The problem of each party: consecutive blocks of records whose sizes differ by at most one."""
    require_count("parties", parties, at_most=problem.records)
    blocks = np.array_split(np.arange(problem.records), parties)
    return tuple(dataclasses.replace(problem, signed=problem.signed[b], norms=problem.norms[b]) for b in blocks)


def initial_state(parties: int, dimension: int) -> State:
    """Zero: x and y have one row a party, z is the centre's."""
    return State(np.zeros((parties, dimension)), np.zeros(dimension), np.zeros((parties, dimension)))


def party_noise(randomness: Randomness, sigmas: Sequence[float], dimension: int, rounds: int) -> Iterator[Matrix]:
    """Independent noise for each party and round, party i's entries N(0, sigmas[i]^2); one matrix a round."""
    for sigma in sigmas:
        require_not_negative("sigma", sigma)
    scale = np.asarray(sigmas, dtype=np.float64)[:, None]
    stream = randomness.noise(len(sigmas) * dimension, 1.0, rounds)
    return (scale * draws.reshape(len(sigmas), dimension) for draws in stream)


def dpadmm(
    parties: Sequence[Problem],
    initial: State,
    *,
    step_sizes: Iterable[Scalar],
    noise: Iterable[Matrix],
    consensus: Consensus = Consensus.PROXIMAL,
    grid: float | None = None,
) -> Iterator[State]:
    """Yield (x, z, y) after each round; x and y have one row a party, and so has each matrix of ``noise``."""
    _require_parties(parties, initial)
    x, z, y = list(initial.x), initial.z, list(initial.y)
    scalar = number_system(initial.z).scalar
    for eta, gamma in zip(step_sizes, noise, strict=False):
        eta_k = scalar(eta)
        for i, party in enumerate(parties):
            moved = update_x(party.gradient(x[i]), x[i], z, y[i], rho=party.rho, eta=eta_k)
            x[i] = on_grid(moved, grid) + gamma[i]
            if consensus is Consensus.PLAIN:
                x[i] = party.regularizer.prox(x[i], party.rho + 1 / eta_k)
        z = _centre(parties, x, y, consensus)
        y = [update_y(y[i], x[i], z, rho=party.rho) for i, party in enumerate(parties)]
        yield State(np.stack(x), z, np.stack(y)).require_finite()


def _centre(parties: Sequence[Problem], x: Sequence[Vector], y: Sequence[Vector], consensus: Consensus) -> Vector:
    """The weighted mean of x_i + y_i/rho, and its prox where the centre holds the penalty."""
    rho, regularizer = parties[0].rho, parties[0].regularizer
    total = x[0] - x[0]
    for party, x_i, y_i in zip(parties, x, y, strict=True):
        total = total + (x_i + y_i / rho) * party.records
    mean = total / sum(party.records for party in parties)
    return mean if consensus is Consensus.PLAIN else regularizer.prox(mean, rho)


def _require_parties(parties: Sequence[Problem], initial: State) -> None:
    if not parties:
        raise InvalidParameter("parties must be at least one, got none")
    dimension = parties[0].dimension
    initial.require_dimension(dimension)
    for name, value in (("x", initial.x), ("y", initial.y)):
        if value.shape != (len(parties), dimension):
            raise InvalidParameter(
                f"initial {name} must have one row a party, {len(parties)} x {dimension}, got shape {value.shape}"
            )
    for i, party in enumerate(parties):
        # Enclosures and many digits are not compared: their problems come from checked ones.
        other_rho = is_number(party.rho) and party.rho != parties[0].rho
        if party.dimension != dimension or other_rho or party.regularizer != parties[0].regularizer:
            raise InvalidParameter(f"party {i} must share dimension, rho and regularizer with party 0")
