"""Noise of torch that notices what it is added to; imported only where torch is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from unittest import mock

import torch

from verification.served.declared import DeclaredRun

_DRAWS = ("normal", "randn", "randn_like")
_ADDING = {torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__, torch.add}
_ADDING_IN_PLACE = {torch.Tensor.add_, torch.Tensor.__iadd__}
_SCALING = {torch.Tensor.mul, torch.Tensor.__mul__, torch.Tensor.__rmul__, torch.mul, torch.Tensor.div}
_SCALING |= {torch.Tensor.__truediv__, torch.div, torch.Tensor.reshape, torch.Tensor.view, torch.Tensor.view_as}


class NoticingTensor(torch.Tensor):  # type: ignore[misc]  # torch may not be there, and then has no types
    """Noise that notices what it is added to."""

    run: DeclaredRun
    name_of_value: str

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # torch's protocol
        """A sum with it is a release; a multiple of it is noise again; anything else is a plain tensor."""
        ours = next(each for each in args if isinstance(each, NoticingTensor))
        plain = [each.as_subclass(torch.Tensor) if isinstance(each, NoticingTensor) else each for each in args]
        alone = sum(isinstance(each, NoticingTensor) for each in args) == 1 and not kwargs
        if alone and function in (_ADDING | _ADDING_IN_PLACE):
            noise = ours.as_subclass(torch.Tensor)
            value = plain[1] if args[0] is ours else plain[0]
            before, noise = torch.broadcast_tensors(torch.as_tensor(value), noise)
            numbers = [each.detach().double().numpy().copy() for each in (before, noise)]
            released = torch.as_tensor(ours.run.release(ours.name_of_value, *numbers)).to(before.dtype)
            return plain[0].copy_(released) if function in _ADDING_IN_PLACE else released
        result = function(*plain, **(kwargs or {}))
        return noticing_tensor(ours.run, ours.name_of_value, result) if alone and function in _SCALING else result


def noticing_tensor(run: DeclaredRun, name: str, drawn: torch.Tensor) -> NoticingTensor:
    """The noise as a tensor that notices."""
    tensor: NoticingTensor = drawn.as_subclass(NoticingTensor)
    tensor.run, tensor.name_of_value = run, name
    return tensor


def watch_torch(
    stack: contextlib.ExitStack, run: DeclaredRun, names: Mapping[str, str]
) -> dict[str, tuple[object, object]]:
    """Watch these functions of torch; returns for each what it was and what stands for it."""
    if run.seed is not None:
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        torch.manual_seed(run.seed % (1 << 63))
    patched: dict[str, tuple[object, object]] = {}
    for kind in set(names) & set(_DRAWS):
        original = getattr(torch, kind)
        draw = _watched(run, names[kind], original)
        stack.enter_context(mock.patch.object(torch, kind, draw))
        patched[f"torch.{kind}"] = (original, draw)
    return patched


def _watched(run: DeclaredRun, name: str, original: Callable[..., torch.Tensor]) -> Callable[..., NoticingTensor]:
    return lambda *args, **options: noticing_tensor(run, name, original(*args, **options))
