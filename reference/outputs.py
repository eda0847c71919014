"""What a run releases: the last x (the paper's output), the sparse z, or the averages of Theorem 2."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from reference.arithmetic import Vector
from reference.errors import InvalidParameter
from reference.problem import State


class Output(enum.Enum):
    """Which model a run returns."""

    LAST = "last"
    AVERAGE = "average"
    SPARSE = "sparse"


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The means over t iterations for which Theorem 2 holds (statement E10: the printed ones do not).

    ``x_before`` is the mean of x^0..x^{t-1}, at which f is taken; ``z_after`` of z^1..z^t, at which h is;
    ``x_after`` of x^1..x^t, whose distance to ``z_after`` is the residual.
    """

    x_before: Vector
    x_after: Vector
    z_after: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """The last state of a run and its averages."""

    last: State
    averages: Averages
    iterations: int

    def model(self, output: Output) -> Vector:
        """The vector that is released."""
        match output:
            case Output.LAST:
                return self.last.x
            case Output.AVERAGE:
                return self.averages.x_before
            case Output.SPARSE:
                return self.last.z


def finish(initial: State, states: Iterable[State]) -> Finished:
    """Run to the end, keeping running sums only."""
    x_sum, z_sum, last, count = initial.x - initial.x, initial.z - initial.z, initial, 0
    for state in states:
        x_sum, z_sum, last = x_sum + state.x, z_sum + state.z, state
        count += 1
    if not count:
        raise InvalidParameter("a run needs at least one iteration, got 0")
    before = (x_sum + initial.x - last.x) / count
    return Finished(last, Averages(before, x_sum / count, z_sum / count), count)
