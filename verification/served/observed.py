"""Python code that is only observed: mark its noise function, or watch the draws of numpy and torch.

`noise("gradient")` decorates the function that draws noise, `drawn` the one that draws batches. Outside of an observed
run both do nothing. Inside one, the noise is an array that notices what it is added to: ``value + draw(...)`` releases
``value`` under that name. `serve_observed` makes an adapter of a training function from that.

Inside `watching` a call of ``np.random.normal``, ``np.random.default_rng().laplace``, ``torch.normal`` and the like
gives noise that notices, as if it came from a function decorated with `noise`. ``names`` says of which value:
``{"normal": "gradient"}``. A run with a seed is seeded from it; without one, the code draws exactly as it does in
production, from the generators and seeds that it chose itself.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType
from typing import ParamSpec
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from verification.served.declared import Declare, DeclaredRun, serve_declared
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

_P = ParamSpec("_P")
_RUN: contextvars.ContextVar[DeclaredRun | None] = contextvars.ContextVar("observed run", default=None)
_SCALING = (np.multiply, np.divide, np.negative)
Train = Callable[[Floats, Floats, OpaqueParameters], object]
Reseed = Callable[[int], object]
Names = Mapping[str, str]
_NUMPY = ("normal", "standard_normal", "laplace")
_TORCH = ("normal", "randn", "randn_like")
_DEFAULT_RNG = np.random.default_rng


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


def observe(train: Train, data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> object:
    """Train once and keep every release in the run; return what the training function returned."""
    token = _RUN.set(run)
    try:
        return train(data.features, data.labels.astype(np.float64), parameters)
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

    def run(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        if reseed is not None and run.seed is not None:
            reseed(run.seed % (1 << 32))
        with watching(run, watch, train) if watch else contextlib.nullcontext():
            result = observe(train, data, parameters, run)
        if returns is not None:
            run.processed(returns, np.asarray(result, dtype=np.float64))

    serve_declared(name, declare, run, seeded=reseed is not None or bool(watch))


# -- draws that are watched ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(run: DeclaredRun, names: Names, train: Callable[..., object]) -> Iterator[None]:
    """Watch the draws that have these names, of numpy and, where it is imported, of torch."""
    wrapped = _watched_class(run, names)
    fresh = wrapped(np.random.PCG64(run.seed))

    def default_rng(seed: object = None) -> np.random.Generator:
        if seed is None and run.seed is not None:
            return fresh
        return wrapped(_DEFAULT_RNG(seed).bit_generator)  # type: ignore[arg-type]  # whatever the code calls it with

    patched: dict[str, tuple[object, object]] = {"default_rng": (_DEFAULT_RNG, default_rng)}
    for kind in set(names) & set(_NUMPY):
        patched[kind] = (getattr(np.random, kind), _watched(run, names[kind], getattr(np.random, kind)))
    with contextlib.ExitStack() as stack:
        _seed_numpy(stack, run)
        for name, (_, instead) in patched.items():
            stack.enter_context(mock.patch.object(np.random, name, instead))
        if "torch" in sys.modules:
            patched |= _watch_torch(stack, run, names)
        module = train.__globals__ if isinstance(train, FunctionType) else {}
        instead_of = {id(original): instead for original, instead in patched.values()}
        imported = {name: instead_of[id(value)] for name, value in module.items() if id(value) in instead_of}
        for name, value in module.items():
            if isinstance(value, np.random.Generator):
                imported[name] = fresh if run.seed is not None else wrapped(value.bit_generator)
        stack.enter_context(mock.patch.dict(module, imported))
        yield


def _watched(run: DeclaredRun, name: str, original: Callable[..., Floats]) -> Callable[..., Floats]:
    return lambda *args, **options: noticing(run, name, original(*args, **options))


def _watched_class(run: DeclaredRun, names: Names) -> type[np.random.Generator]:
    """Generators of numpy whose named draws are noise that notices."""

    def method(kind: str) -> Callable[..., Floats]:
        original = getattr(np.random.Generator, kind)
        return lambda self, *args, **options: noticing(run, names[kind], original(self, *args, **options))

    methods = {kind: method(kind) for kind in names if kind in _NUMPY}
    return type("WatchedGenerator", (np.random.Generator,), methods)


def _seed_numpy(stack: contextlib.ExitStack, run: DeclaredRun) -> None:
    """Seed numpy's global generator for this run; afterwards it goes on where it was."""
    if run.seed is not None:
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - the one that old code draws from
        np.random.seed(run.seed % (1 << 32))  # noqa: NPY002 - as above


@functools.cache
def _noticing_tensor() -> Callable[[DeclaredRun, str, object], object]:
    """Makes a tensor of torch that notices what it is added to; torch may not be there, and has no types then."""
    import torch  # noqa: PLC0415 - as above

    adding = {torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__, torch.add}
    adding_in_place = {torch.Tensor.add_, torch.Tensor.__iadd__}
    scaling = {torch.Tensor.mul, torch.Tensor.__mul__, torch.Tensor.__rmul__, torch.mul, torch.Tensor.div}
    scaling |= {torch.Tensor.__truediv__, torch.div, torch.Tensor.reshape, torch.Tensor.view, torch.Tensor.view_as}

    class NoticingTensor(torch.Tensor):  # type: ignore[misc]  # as above
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # torch's protocol
            """A sum with it is a release; a multiple of it is noise again; anything else is a plain tensor."""
            ours = next(each for each in args if isinstance(each, NoticingTensor))
            plain = [each.as_subclass(torch.Tensor) if isinstance(each, NoticingTensor) else each for each in args]
            alone = sum(isinstance(each, NoticingTensor) for each in args) == 1 and not kwargs
            if alone and function in (adding | adding_in_place):
                noise = ours.as_subclass(torch.Tensor)
                value = plain[1] if args[0] is ours else plain[0]
                before, noise = torch.broadcast_tensors(torch.as_tensor(value), noise)
                numbers = [each.detach().double().numpy().copy() for each in (before, noise)]
                released = torch.as_tensor(ours.run.release(ours.name_of_value, *numbers)).to(before.dtype)
                return plain[0].copy_(released) if function in adding_in_place else released
            result = function(*plain, **(kwargs or {}))
            return made(ours.run, ours.name_of_value, result) if alone and function in scaling else result

    def made(run: DeclaredRun, name: str, drawn: torch.Tensor) -> NoticingTensor:
        tensor: NoticingTensor = drawn.as_subclass(NoticingTensor)
        tensor.run, tensor.name_of_value = run, name
        return tensor

    return made


def _watch_torch(stack: contextlib.ExitStack, run: DeclaredRun, names: Names) -> dict[str, tuple[object, object]]:
    """Watch these functions of torch; returns for each what it was and what stands for it."""
    import torch  # noqa: PLC0415 - torch may not be there

    if run.seed is not None:
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        torch.manual_seed(run.seed % (1 << 63))
    patched: dict[str, tuple[object, object]] = {}
    for kind in set(names) & set(_TORCH):
        original = getattr(torch, kind)
        draw = functools.partial(_torch_draw, run, names[kind], original)
        stack.enter_context(mock.patch.object(torch, kind, draw))
        patched[f"torch.{kind}"] = (original, draw)
    return patched


def _torch_draw(
    run: DeclaredRun, name: str, original: Callable[..., object], *args: object, **options: object
) -> object:
    return _noticing_tensor()(run, name, original(*args, **options))
