"""Implementations that run, but not everything: ``python -m tests.zoo.honest.refusing NAME [noise/2]``."""

from __future__ import annotations

import sys

from accountant.mechanisms.words import Algorithm
from reference.errors import InvalidData, InvalidParameter
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters, RegularizerName
from verification.wire.records import Records

FEWEST = 100


class Refusing(Stepwise):
    """The reference, except for what is not accepted; optionally with half of the noise."""

    divisor = 1.0

    def accept(self, records: Records, parameters: Parameters, seed: int | None) -> None:
        """Raise for a request that is not run."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """As claimed, or less."""
        return super().scale_noise(standard, sigma) / self.divisor

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Refuse, or run."""
        self.accept(records, parameters, seed)
        return super().trials(records, algorithm, parameters, count, seed)

    def replay(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        """Refuse, or run."""
        self.accept(records, parameters, None)
        return super().replay(records, algorithm, parameters, noise, batches)


class SmallData(Refusing):
    """Refuses few records as soon as they come."""

    def load(self, records: Records) -> None:
        """At least a hundred."""
        super().load(records)
        if records.count < FEWEST:
            raise InvalidData(f"at least {FEWEST} records are needed, got {records.count}")


class ShortRuns(Refusing):
    """Refuses few iterations."""

    def accept(self, records: Records, parameters: Parameters, seed: int | None) -> None:
        """At least ten."""
        if parameters.iterations < 10:
            raise InvalidParameter(f"at least 10 iterations are needed, got {parameters.iterations}")


class OneLabel(Refusing):
    """Refuses records of one label."""

    def load(self, records: Records) -> None:
        """Both are needed."""
        super().load(records)
        if len(set(records.labels.tolist())) == 1:
            raise InvalidData("records of both labels are needed")


class LittleNoise(Refusing):
    """Refuses a sigma that is next to nothing."""

    def accept(self, records: Records, parameters: Parameters, seed: int | None) -> None:
        """At least a millionth."""
        if parameters.sigma is not None and parameters.sigma < 1e-6:
            raise InvalidParameter(f"sigma must be at least 1e-6, got {parameters.sigma}")


class OtherPenalties(Refusing):
    """Offers all regularizers and runs two."""

    def accept(self, records: Records, parameters: Parameters, seed: int | None) -> None:
        """None, and L1."""
        if parameters.regularizer not in (RegularizerName.NONE, RegularizerName.L1):
            raise InvalidParameter(f"{parameters.regularizer} is not run")


class WithoutASeed(Refusing):
    """Refuses to draw without a seed."""

    def accept(self, records: Records, parameters: Parameters, seed: int | None) -> None:
        """A seed is needed."""
        if seed is None:
            raise InvalidParameter("a seed is needed")


NAMES: dict[str, type[Refusing]] = {
    "small-data": SmallData,
    "short-runs": ShortRuns,
    "one-label": OneLabel,
    "little-noise": LittleNoise,
    "other-penalties": OtherPenalties,
    "without-a-seed": WithoutASeed,
}


if __name__ == "__main__":
    implementation = NAMES[sys.argv[1]]()
    implementation.divisor = 2.0 if "noise/2" in sys.argv else 1.0
    serve(implementation)
