"""Noise of numpy that notices what it is added to: `NoticingNoise`, and the functions of numpy that keep it.

What is a view, a copy or a linear image of noise alone is noise. Where noise meets data in another way than a sum, or
becomes a plain number, nothing follows it any further: `LOST` collects these lines, for whoever looks for a release.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import linecache
import operator
import random
import secrets
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats

LOST: contextvars.ContextVar[Counter[str] | None] = contextvars.ContextVar("lost noise", default=None)
_BETWEEN = {str(Path(__file__).with_name(f"{name}.py")) for name in ("observed", "numpy_noise", "torch_noise")}
_BETWEEN |= {random.__file__, secrets.__file__, uuid.__file__, contextlib.__file__, "<__array_function__ internals>"}
_SCALING = (np.multiply, np.divide, np.negative, np.positive, np.matmul)
_HOW = {"casting", "subok", "dtype", "axis", "axes", "keepdims"}
_SHAPING = {
    np.reshape, np.ravel, np.squeeze, np.transpose, np.expand_dims, np.broadcast_to, np.atleast_1d, np.atleast_2d,
    np.copy, np.split, np.array_split, np.moveaxis, np.swapaxes, np.roll, np.flip, np.tile, np.repeat, np.take, np.diag,
    np.diagonal, np.sum, np.mean, np.dot, np.inner, np.outer, np.einsum, np.tensordot, np.kron, np.linalg.solve,
    np.tril, np.triu,
}  # fmt: skip
_JOINING = {np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.where}


class NoticingNoise(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Noise that notices what it is added to; its views, copies, parts and linear images do as well.

    Without a run it is a plain array, but one that was made empty or of zeros is noise once noise was put everywhere.
    """

    name: str
    run: DeclaredRun | None
    unset: NDArray[np.bool_] | None
    part: bool  # a triangle, which is added to the other one before it is noise of a value

    def __array_finalize__(self, other: object) -> None:
        """A view or copy of noise is noise of the same value."""
        self.name, self.run = getattr(other, "name", ""), getattr(other, "run", None)
        self.part = getattr(other, "part", False)
        self.unset = None

    def __getitem__(self, key: object) -> Any:
        """A part of the noise, of one number as well."""
        part = super().__getitem__(key)  # type: ignore[call-overload]  # whatever numpy takes
        return _plain(part) if self.run is None else _like(self, part)

    def __setitem__(self, key: Any, value: object) -> None:
        """Put values there; what is then noise everywhere is noise."""
        self.view(np.ndarray)[key] = _plain(value)
        if self.unset is not None:
            self.unset[key] = False
            if not isinstance(value, NoticingNoise) or value.run is None or self.name not in ("", value.name):
                self.unset = None
            else:
                self.name = value.name
                self.run = None if self.unset.any() else value.run

    def __float__(self) -> float:
        """A plain number: nothing follows it."""
        lost(self.run, "float")
        return float(self.view(np.ndarray))

    def item(self, *at: Any) -> Any:
        """One number, as noise."""
        if self.run is None or len(at) > 1:
            return self.view(np.ndarray).item(*at)
        return self.reshape(-1)[at[0] if at else 0]

    def tolist(self) -> Any:
        """A list of numbers, each as noise."""
        if self.run is None:
            return self.view(np.ndarray).tolist()
        return [part.tolist() for part in self] if self.ndim else self

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, out: tuple[Floats, ...] | None = None, **options: object
    ) -> object:
        """A sum or difference with it is a release; a multiple of it is noise again; anything else is a plain array."""
        ours = [each for each in inputs if isinstance(each, NoticingNoise) and each.run is not None]
        plain = [_plain(each) for each in inputs]
        for each in out or ():
            if isinstance(each, NoticingNoise):
                each.unset = None
        into = {} if out is None else {"out": tuple(_plain(each) for each in out)}
        called = method == "__call__" and set(options) <= _HOW
        adding = called and ufunc in (np.add, np.subtract)
        if adding and len(ours) == 1 and not ours[0].part:
            return _into(out, ours[0]._released(ufunc, plain, first_is_noise=inputs[0] is ours[0]))
        result = getattr(ufunc, method)(*plain, **into, **options)
        both = adding and len(ours) > 1 and len({(id(each.run), each.name) for each in ours}) == 1
        summed = ufunc is np.add and method == "reduce" and len(ours) == 1
        scaled = called and ufunc in _SCALING and len(ours) == 1 and (ufunc is not np.divide or inputs[0] is ours[0])
        if both or summed or scaled:
            return _like(ours[0], result)
        if ours:
            lost(ours[0].run, ufunc.__name__)
        return result

    def __array_function__(self, function, types, args, kwargs):  # type: ignore[no-untyped-def]  # numpy's protocol
        """What only changes the shape of noise, or is linear in it, gives noise; anything else plain arrays."""
        found: list[NoticingNoise] = []
        result = function(*_bare(args, found), **_bare(kwargs, found))
        if not found:
            return result
        one = len({(id(each.run), each.name) for each in found}) == 1
        parts = args[1:] if function is np.where else args[0] if args and isinstance(args[0], (list, tuple)) else args
        whole = all(isinstance(part, (NoticingNoise, int, float)) for part in parts)
        alone = one and (function in _SHAPING or (function in _JOINING and whole))
        if alone and isinstance(result, list):
            return [_like(found[0], each) for each in result]
        if not alone:
            lost(found[0].run, function.__name__)
            return result
        noise = _like(found[0], result)
        noise.part |= function in (np.tril, np.triu) and not np.all(result)
        return noise

    def _released(self, ufunc: np.ufunc, plain: list[object], *, first_is_noise: bool) -> Floats:
        if self.run is None:
            raise AssertionError("noise belongs to a run")
        noise, value = (np.asarray(each) for each in (plain if first_is_noise else plain[::-1]))
        if ufunc is np.subtract:
            noise, value = (noise, -value) if first_is_noise else (-noise, value)
        shape = np.broadcast_shapes(noise.shape, value.shape)
        before = np.array(np.broadcast_to(value, shape), dtype=np.float64)
        leaving = np.asarray(ufunc(*plain))
        added = np.array(np.broadcast_to(noise, shape), dtype=np.float64)
        released = self.run.release(self.name, before, added, leaving.astype(np.float64))
        return np.asarray(released).astype(leaving.dtype)


def _plain(each: object) -> object:
    return each.view(np.ndarray) if isinstance(each, NoticingNoise) else each


def _bare(each: object, found: list[NoticingNoise]) -> Any:
    """The same arguments with plain arrays; the noise among them is put into `found`."""
    if isinstance(each, NoticingNoise):
        if each.run is not None:
            found.append(each)
        return _plain(each)
    if isinstance(each, (list, tuple)):
        return type(each)(_bare(part, found) for part in each)
    return {key: _bare(part, found) for key, part in each.items()} if isinstance(each, dict) else each


def _like(noise: NoticingNoise, result: object) -> NoticingNoise:
    found = np.asarray(result).view(NoticingNoise)
    found.name, found.run, found.part = noise.name, noise.run, noise.part and not np.asarray(result).all()
    return found


def _into(out: tuple[Floats, ...] | None, result: Floats) -> object:
    """What is released is no noise any more, also where it replaces the noise in place."""
    if out is None:
        return result
    target = _plain(out[0])
    np.copyto(target, result)  # type: ignore[arg-type]  # an array
    return target


def lost(run: DeclaredRun | None, by: str) -> None:
    """Keep the line that makes plain numbers of noise."""
    lines = LOST.get()
    if lines is not None and run is not None:
        lines[f"{by} ({caller()})"] += 1


def noticing(run: DeclaredRun, name: str, drawn: object) -> NoticingNoise:
    """The noise as an array that notices."""
    array = np.asarray(drawn).view(NoticingNoise)
    array.name, array.run = name, run
    return array


def caller() -> str:
    """The line of the observed code that makes a call."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _between(frame.f_code.co_filename):
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}: {line}"


def _between(file: str) -> bool:
    return file in _BETWEEN or "site-packages" in file


# -- functions of numpy that know nothing of subclasses ---------------------------------------------------------------


def following() -> Iterator[tuple[object, str, object]]:
    """Functions of numpy that make plain arrays of noise; for each where it is and what keeps the noise."""

    def arrays(original: Callable[..., Any]) -> Callable[..., Any]:
        def array(each: object, *args: object, **options: object) -> Any:
            found: list[NoticingNoise] = []
            if not isinstance(_first(each), NoticingNoise):
                return original(each, *args, **options)
            made = original(_bare(each, found), *args, **options)
            if not found:
                return made
            if len(_leaves(each)) == len(found) and len({(id(part.run), part.name) for part in found}) == 1:
                return _like(found[0], made)
            lost(found[0].run, original.__name__)
            return made

        return array

    def buffers(original: Callable[..., Any]) -> Callable[..., Any]:
        def buffer(*args: object, **options: object) -> Any:
            made = original(*_bare(args, []), **options)
            if _between(sys._getframe(1).f_code.co_filename) or made.dtype.kind != "f" or not made.size:
                return made
            mine = made.view(NoticingNoise)
            mine.unset = np.ones(made.shape, dtype=bool)
            return mine

        return buffer

    def total(each: object, *args: Any, **options: Any) -> Any:
        axis = options.get("axis", args[0] if args else None)
        if isinstance(each, (list, tuple)) and axis == 0 and any(isinstance(part, NoticingNoise) for part in each):
            return functools.reduce(operator.add, each)
        return original_sum(each, *args, **options)

    original_sum: Callable[..., Any] = np.sum
    yield np, "sum", total
    for name in ("array", "asarray", "ascontiguousarray"):
        yield np, name, arrays(getattr(np, name))
    for name in ("zeros", "empty", "zeros_like", "empty_like"):
        yield np, name, buffers(getattr(np, name))


def _first(each: object) -> object:
    return _first(each[0]) if isinstance(each, (list, tuple)) and each else each


def _leaves(each: object) -> list[object]:
    return [leaf for part in each for leaf in _leaves(part)] if isinstance(each, (list, tuple)) else [each]
