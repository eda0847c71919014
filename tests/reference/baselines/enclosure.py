"""One run in three number systems: the balls must hold what binary64 and sixty digits compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flint import arb

from reference.arithmetic import FLOAT64, NumberSystem, balls, digits
from reference.problem import State

Run = Callable[[NumberSystem], Iterator[State]]


def require_enclosed(run: Run, widest: float) -> None:
    """The ball run contains the binary64 run and the 60-digit run, and its radii stay below ``widest``."""
    enclosed = list(run(balls()))
    for other in (FLOAT64, digits(60)):
        states = list(run(other))
        assert len(states) == len(enclosed) > 0
        for ball_state, state in zip(enclosed, states, strict=True):
            for name in ("x", "z", "y"):
                for ball, number in zip(getattr(ball_state, name).flat, getattr(state, name).flat, strict=True):
                    assert ball.contains(as_arb(number)), (other.name, name, ball, number)
                    assert float(ball.arb.rad()) < widest


def as_arb(number: object) -> arb:
    return arb(number) if isinstance(number, float) else arb(str(number))
