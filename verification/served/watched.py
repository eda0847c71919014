"""Draws of numpy and torch that are watched: code that calls them directly needs no noise function of its own.

Inside `watching` a call of ``np.random.normal``, ``np.random.default_rng().laplace``, ``torch.normal`` and the like
gives noise that notices what it is added to, as if it came from a function decorated with `noise`. ``names`` says
of which value: ``{"normal": "gradient"}``. A run with a seed is seeded from it; without one, the code draws exactly
as it does in production, from the generators and seeds that it chose itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from unittest import mock

import numpy as np

from verification.served.declared import DeclaredRun
from verification.served.observed import noticing
from verification.wire.arrays import Floats

Names = Mapping[str, str]
_NUMPY = ("normal", "standard_normal", "laplace")
_DEFAULT_RNG = np.random.default_rng


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
            from verification.served.watched_torch import watch_torch  # noqa: PLC0415 - torch may not be there

            patched |= watch_torch(stack, run, names)
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
