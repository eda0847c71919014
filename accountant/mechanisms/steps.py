r"""What one release costs, stated exactly: the entries of a ledger.

Every step says how often it is repeated, which data sets are neighbours and which noise it adds.
Its parameters are exact rationals; nothing is rounded before a transcendental function is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accountant.copies import Copies
from accountant.errors import InvalidQuantityError, UnsupportedSchemeError
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import shown


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidQuantityError(message)


@dataclass(frozen=True, slots=True)
class GaussianStep:
    r"""`count` adaptive Gaussian releases of everything, each with (Delta/sigma)^2 = ratio_squared.

    [CL20] Lemma 1. The square is kept because a joint sensitivity is the root of a rational.
    """

    ratio_squared: Fraction
    count: int
    noise: Noise = Noise.GAUSSIAN
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse ratios and counts that no mechanism has."""
        _require(self.ratio_squared > 0, f"(Delta/sigma)^2 must be > 0, got {shown(self.ratio_squared)}")
        _require(self.count >= 1, f"count must be >= 1, got count={self.count}")


@dataclass(frozen=True, slots=True)
class SubsampledGaussianStep:
    r"""`count` iterations, each with a fresh batch without replacement, q = m/n, and noise nu = sigma m/(2C).

    [CL20] Algorithm 1, lines 4-6. nu is sigma over the *replace-one* sensitivity 2C/m, that of one entry of the batch.
    Under add-or-remove n is the larger number of records: the batch of the smaller data set is a batch without the
    record, so the pair is (1-q) Q + q P1 against Q, and P1 has one entry replaced: the same profile dominates it.
    """

    sampling_rate: Fraction
    noise_multiplier: Fraction
    count: int
    noise: Noise = Noise.GAUSSIAN
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse rates outside (0, 1], noise that is not positive, no iterations, a relation without a theorem."""
        _require_sampled(self.sampling_rate, self.noise_multiplier, self.count)
        _require_entry(self.neighbours)

    @property
    def ratio_squared(self) -> Fraction:
        """(Delta/sigma)^2 of the release on one batch."""
        return 1 / self.noise_multiplier**2


@dataclass(frozen=True, slots=True)
class WithReplacementStep:
    r"""`count` iterations, each with a fresh batch of m uniform draws of n records with replacement.

    nu is sigma over the sensitivity of one entry of the batch (2C/m for a mean): k copies of a record move k times as
    far. The profile is proved in `accountant.profiles.with_replacement`; under add-or-remove n is the larger number of
    records.
    """

    records: int
    batch: int
    noise_multiplier: Fraction
    count: int
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse a data set of one record, an empty batch, noise that is not positive, no iterations."""
        _require(self.records >= 2, f"records must be >= 2, got records={self.records}")
        _require(self.batch >= 1, f"batch must be >= 1, got batch={self.batch}")
        _require_sampled(Fraction(1), self.noise_multiplier, self.count)
        _require_entry(self.neighbours)

    @property
    def copies(self) -> Copies:
        """How often the record is in a batch."""
        return Copies(self.batch, 1, self.records)

    @property
    def sampling_rate(self) -> Fraction:
        """About the probability to be in a batch, for guesses only."""
        return min(Fraction(self.batch, self.records), Fraction(1))


@dataclass(frozen=True, slots=True)
class GroupStep(WithReplacementStep):
    r"""`count` iterations whose batch holds K records of a `group` of k, each of which moves it as far as one copy.

    K is hypergeometric for batches without replacement, binomial with m and k/n for those with it, and binomial with k
    and q = batch/records for Poisson batches. The theorem of `accountant.profiles.with_replacement` is about any K.
    """

    group: int = 1
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT

    def __post_init__(self) -> None:
        """Refuse what no mechanism has, and a group that is in every batch."""
        WithReplacementStep.__post_init__(self)
        _require(self.group >= 1, f"group must be >= 1, got group={self.group}")
        _require(self.copies.most >= 1, "a group that no batch can hold")

    @property
    def copies(self) -> Copies:
        """How many records of the group are in a batch."""
        if self.sampling is Sampling.POISSON:
            return Copies(self.group, self.batch, self.records)
        return Copies(self.batch, self.group, self.records, self.sampling is Sampling.WITH_REPLACEMENT)


@dataclass(frozen=True, slots=True)
class PoissonGaussianStep:
    r"""`count` iterations in which each record joins independently with probability q; noise nu = sigma/C.

    Only for comparing with accountants of DP-SGD: neighbours differ by one *added or removed* record, so the
    sensitivity of the summed gradient is C and not 2C.
    """

    sampling_rate: Fraction
    noise_multiplier: Fraction
    count: int

    def __post_init__(self) -> None:
        """Refuse rates outside (0, 1], noise that is not positive, no iterations."""
        _require_sampled(self.sampling_rate, self.noise_multiplier, self.count)

    @property
    def neighbours(self) -> Neighbours:
        """The relation of the Poisson analysis."""
        return Neighbours.ADD_OR_REMOVE


@dataclass(frozen=True, slots=True)
class PureStep:
    """`count` releases that each are epsilon-DP with delta = 0, for neighbours of this relation."""

    epsilon: Fraction
    count: int
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse epsilons and counts that no mechanism has."""
        _require(self.epsilon > 0, f"epsilon of a step must be > 0, got epsilon={shown(self.epsilon)}")
        _require(self.count >= 1, f"count must be >= 1, got count={self.count}")


@dataclass(frozen=True, slots=True)
class LaplaceStep(PureStep):
    """`count` releases with Laplace noise on everything: epsilon is the L1 sensitivity over the scale.

    Each is epsilon-DP, and a little better than that for delta > 0: its profile is known.
    """


@dataclass(frozen=True, slots=True)
class ShuffledStep:
    r"""`count` epochs, each in a fresh random order: of it `taken` of the `batches` disjoint batches of m are released.

    Only what a pair of neighbours attains rests on it (`accountant.shuffled`): its price is that of Gaussian
    releases, one an epoch. nu = sigma m/(2C); `present` is the probability that a record is in a batch of an epoch,
    below 1 where some records are left out.
    """

    batches: int
    taken: int
    present: Fraction
    noise_multiplier: Fraction
    count: int
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse epochs without batches, noise that is not positive, no epochs."""
        _require(1 <= self.taken <= self.batches, f"taken must lie in 1 to {self.batches}, got taken={self.taken}")
        _require_sampled(self.present, self.noise_multiplier, self.count)

    @property
    def sampling_rate(self) -> Fraction:
        """The probability that a released batch of an epoch holds a certain record."""
        return self.present * self.taken / self.batches

    def summed(self) -> tuple[GaussianStep, ...]:
        """Return the sums of all batches of each epoch, which hold every record: Gaussian releases."""
        if self.sampling_rate < 1:
            return ()
        ratio = 1 / (self.batches * self.noise_multiplier**2)
        return (GaussianStep(ratio, self.count, neighbours=self.neighbours),)


Step = GaussianStep | SubsampledGaussianStep | WithReplacementStep | PoissonGaussianStep | PureStep | ShuffledStep


def _require_entry(neighbours: Neighbours) -> None:
    """Where another record takes the place of one that is not drawn, it moves the batch as a replaced one does."""
    if neighbours is Neighbours.ZERO_OUT:
        raise UnsupportedSchemeError(
            "drawn batches have no theorem here under zero-out neighbours: a batch without the record holds another "
            "one; replace-one has one"
        )


def _require_sampled(rate: Fraction, noise_multiplier: Fraction, count: int) -> None:
    _require(0 < rate <= 1, f"sampling rate must lie in (0, 1], got q={shown(rate)}")
    _require(noise_multiplier > 0, f"noise multiplier must be finite and > 0, got nu={shown(noise_multiplier)}")
    _require(count >= 1, f"count must be >= 1, got count={count}")
