"""Mistakes that can be made in any declared algorithm, each as a change of an honest one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import cast

import numpy as np

from tests.verification.declared.inprocess import InProcess
from verification.served.declared import Declare, DeclaredRun, RunOnce
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

LATE = 1000
SIZE_OF_CLAIM = 24


class _Over(Exception):
    """The run ends here."""


class WrongRun(DeclaredRun):
    """A run that hands everything on to another one, with one mistake on the way."""

    def __init__(self, inner: DeclaredRun, data: Records, mistake: str) -> None:
        self.__dict__ = inner.__dict__  # one state: what is shown of this run is shown of that
        self._data, self._mistake = data, mistake
        self._first: dict[object, Floats] = {}
        self._count = self._draws = 0

    def _perturbed(  # noqa: PLR0911 - one return a mistake
        self, noise: Callable[[float], Floats], shape: object, scale: float
    ) -> Floats:
        size = float(np.abs(self._data.features).sum())
        if self._mistake == "data-dependent scale":
            return noise(scale * (1.0 + 0.1 * size))
        if self._mistake == "variance as deviation":
            return noise(scale * scale)
        if self._mistake == "scale by the largest norm":
            return noise(scale * max(1.0, float(np.linalg.norm(self._data.features, axis=1).max()) ** 0.5))
        if self._mistake == "more noise, of a scale that hardly moves":
            return noise(3.0 * scale * (1.0 + 0.01 * float(np.tanh(size / self._data.count))))
        drawn = noise(scale)
        self._draws += 1
        late = self._mistake == "no noise late" and self._draws > LATE
        unseeded = self._mistake == "no noise without a seed" and self.seed is None
        large = self._mistake == "no noise at large n" and self._data.count >= SIZE_OF_CLAIM
        if late or unseeded or large:
            return np.zeros_like(drawn)
        if self._mistake == "more noise":
            return noise(2.0 * scale)
        if self._mistake == "single precision":
            return drawn.astype(np.float32).astype(np.float64)
        if self._mistake == "another generator":
            return drawn[::-1].copy()
        if self._mistake == "no noise":
            return np.zeros_like(drawn)
        if self._mistake == "one draw for all":
            one = self._first.setdefault(shape, drawn)
            return np.broadcast_to(one[:1], one.shape).copy() if one.ndim > 1 else one
        return drawn

    def gaussian(self, shape: int | tuple[int, ...], sigma: float) -> Floats:
        return self._perturbed(lambda s: DeclaredRun.gaussian(self, shape, s), shape, sigma)

    def laplace(self, shape: int | tuple[int, ...], scale: float) -> Floats:
        return self._perturbed(lambda s: DeclaredRun.laplace(self, shape, s), shape, scale)

    def gamma_norm(self, dimension: int, scale: float) -> Floats:
        return self._perturbed(lambda s: DeclaredRun.gamma_norm(self, dimension, s), dimension, scale)

    def release(self, name: str, before: Floats, noise: Floats, released: Floats | None = None) -> Floats:
        self._count += 1
        if self._mistake == "data-dependent stopping" and self._count > 1 and np.abs(self._data.features).max() > 5:
            raise _Over
        if self._mistake == "stops on what has no noise" and self._count > 1 and np.abs(before).max() > 1e-3:
            raise _Over
        if self._mistake == "more releases on some data" and np.abs(self._data.features).max() > 5:
            super().release(name, before, noise, released)
        if self._mistake == "an undeclared value":
            super().processed("secret", before)
        if self._mistake == "twice the value":
            before = 2.0 * before
        if self._mistake == "sum for mean":
            before = before * self._data.count
        if self._mistake == "scale by the norm of the batch":
            noise = noise * float(np.linalg.norm(before))
        if self._mistake == "noise subtracted again":
            released = before + noise - noise
        return super().release(name, before, noise, released)

    def minimise(
        self, name: str, noise: Floats, solve: Callable[[Floats], Floats], gradient: Callable[[Floats], Floats]
    ) -> Floats:
        if self._mistake == "noise subtracted again":
            return super().minimise(name, noise, lambda b: solve(0.0 * b), gradient)
        return super().minimise(name, noise, solve, gradient)

    def processed(self, name: str, value: Floats) -> Floats:
        if self._mistake == "model without noise":
            value = value + self._data.features.mean(axis=0)
        return super().processed(name, value)

    def public(self, name: str, value: float) -> None:
        if self._mistake == "data-dependent penalty":
            value *= 1.0 + float(self._data.features.mean())
        super().public(name, value)


def wrong(name: str, module: ModuleType, mistake: str) -> InProcess:
    """The algorithm of an example with one mistake; an empty one leaves it as it is."""
    honest_run, honest_declare = cast("RunOnce", module.run), cast("Declare", module.declare)

    def run(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        try:
            honest_run(data, parameters, WrongRun(run, data, mistake))
        except _Over:
            return

    def declare(parameters: OpaqueParameters, records: int, columns: int) -> Mapping[str, object]:
        told = dict(honest_declare(parameters, records, columns))
        if mistake in ("half the sensitivity", "half the jacobian"):
            key = mistake.rsplit(maxsplit=1)[-1]
            values = cast("list[dict[str, float]]", told["values"])
            told["values"] = [{**v, key: v[key] / 2} if key in v else v for v in values]
        return told

    return InProcess(name, declare, run)
