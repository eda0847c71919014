"""Python code that is only observed: mark its noise function, and every sum with its noise is a release.

`noise("gradient")` decorates the function that draws noise, `drawn` the one that draws batches. Outside of an observed
run both do nothing. Inside one, the noise is an array that notices what it is added to: ``value + draw(...)`` releases
``value`` under that name. `serve_observed` makes an adapter of a training function from that.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import ParamSpec

import numpy as np
from numpy.typing import NDArray

from verification.served.declared import Declare, DeclaredRun, serve_declared
from verification.wire.arrays import Floats
from verification.wire.declared_messages import OpaqueParameters
from verification.wire.declared_session import LabelledPoints

_P = ParamSpec("_P")
_RUN: contextvars.ContextVar[DeclaredRun | None] = contextvars.ContextVar("observed run", default=None)
_SCALING = (np.multiply, np.divide, np.negative)
Train = Callable[[Floats, Floats, OpaqueParameters], object]
Reseed = Callable[[int], object]


class NoticingNoise(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Noise that notices what it is added to."""

    name: str
    run: DeclaredRun

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, out: tuple[Floats, ...] | None = None, **options: object
    ) -> object:
        """A sum or difference with it is a release; a multiple of it is noise again; anything else is a plain array."""
        plain = [np.asarray(each) for each in inputs]
        ours = [isinstance(each, NoticingNoise) for each in inputs]
        if method == "__call__" and ufunc in (np.add, np.subtract) and sum(ours) == 1 and not options:
            return _into(out, self._released(ufunc, plain, ours))
        result: Floats = getattr(ufunc, method)(*plain, **options)
        if method == "__call__" and ufunc in _SCALING and sum(ours) == 1 and out is None:
            return noticing(self.run, self.name, result)
        return _into(out, result)

    def _released(self, ufunc: np.ufunc, plain: list[Floats], ours: list[bool]) -> Floats:
        first_is_noise = ours[0]
        noise, value = (plain[0], plain[1]) if first_is_noise else (plain[1], plain[0])
        if ufunc is np.subtract:
            noise, value = (noise, -value) if first_is_noise else (-noise, value)
        shape = np.broadcast_shapes(noise.shape, value.shape)
        before = np.array(np.broadcast_to(value, shape), dtype=np.float64)
        return self.run.release(self.name, before, np.array(np.broadcast_to(noise, shape)))


def _into(out: tuple[Floats, ...] | None, result: Floats) -> Floats:
    if out is None:
        return result
    np.copyto(out[0], result)
    return out[0]


def noticing(run: DeclaredRun, name: str, drawn: Floats) -> NoticingNoise:
    """The noise as an array that notices."""
    array = np.asarray(drawn, dtype=np.float64).view(NoticingNoise)
    array.name, array.run = name, run
    return array


def noise(name: str) -> Callable[[Callable[_P, Floats]], Callable[_P, Floats]]:
    """Decorate the function that draws the noise of a value."""

    def decorate(draw: Callable[_P, Floats]) -> Callable[_P, Floats]:
        @functools.wraps(draw)
        def observed(*args: _P.args, **kwargs: _P.kwargs) -> Floats:
            drawn, run = draw(*args, **kwargs), _RUN.get()
            return drawn if run is None else noticing(run, name, drawn)

        return observed

    return decorate


def drawn(draw: Callable[_P, Iterable[int]]) -> Callable[_P, NDArray[np.intp]]:
    """Decorate the function that draws the records of a step."""

    @functools.wraps(draw)
    def observed(*args: _P.args, **kwargs: _P.kwargs) -> NDArray[np.intp]:
        batch, run = np.asarray(list(draw(*args, **kwargs)), dtype=np.intp), _RUN.get()
        return batch if run is None else run.taken_batch(batch)

    return observed


def observe(train: Train, data: LabelledPoints, parameters: OpaqueParameters, run: DeclaredRun) -> object:
    """Train once and keep every release in the run; return what the training function returned."""
    token = _RUN.set(run)
    try:
        return train(data.features, data.labels, parameters)
    finally:
        _RUN.reset(token)


def serve_observed(
    name: str,
    declare: Declare,
    train: Train,
    *,
    returns: str | None = None,
    reseed: Reseed | None = None,
    watch: Mapping[str, str] | None = None,
) -> None:
    """Serve ``train(features, labels, parameters)``, whose noise function is decorated, or whose draws are watched.

    ``returns`` names the value that it returns, if that is computed from released ones; ``reseed(seed)`` makes its
    randomness repeatable, such as ``np.random.seed``. ``watch`` names the value of each kind of draw of numpy and
    torch, ``{"normal": "gradient"}``, and seeds them as well.
    """
    from verification.served.watched import watching  # noqa: PLC0415 - it imports this module

    def run(data: LabelledPoints, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        if reseed is not None and run.seed is not None:
            reseed(run.seed % (1 << 32))
        with watching(run, watch, train) if watch else contextlib.nullcontext():
            result = observe(train, data, parameters, run)
        if returns is not None:
            run.processed(returns, np.asarray(result, dtype=np.float64))

    serve_declared(name, declare, run, seeded=reseed is not None or bool(watch))
