"""Noise of torch that notices what it is added to: what `watching` puts in place of torch's own draws.

torch may not be there, and has no types then: it is imported where code under test has imported it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from verification.served.declared import DeclaredRun
from verification.served.numpy_noise import lost

if TYPE_CHECKING:
    from verification.served.observed import Draws


_KEPT = """
mul mul_ __mul__ __rmul__ __imul__ div div_ __truediv__ __itruediv__ neg __neg__ reshape view view_as flatten ravel
clone detach to double float contiguous squeeze unsqueeze expand expand_as permute transpose t cpu type type_as
__getitem__ __deepcopy__ requires_grad_ movedim narrow select sum mean matmul __matmul__ __rmatmul__ mv mm cat stack
hstack vstack split chunk
"""
"""What is noise again where it is called with noise alone."""


def torch_places(run: DeclaredRun, draws: Draws) -> list[tuple[object, str, object]]:
    """Watch these functions of torch; for each where it is and what stands for it."""
    import torch  # noqa: PLC0415 - torch may not be there

    noisy = _noticing_class()
    if run.seed is not None:
        torch.manual_seed(run.seed % (1 << 63))

    def noticed(kind: str, found: torch.Tensor, mean: object) -> object:
        draws.seen(kind)
        around = torch.as_tensor(mean)
        value = draws.releases(bool(torch.any(around != 0)), alone=not isinstance(mean, torch.Tensor))
        noise = noisy.made(found - around if value else found, run, draws.names[kind])
        return around + noise if value else noise

    def watched(kind: str, original: Callable[..., torch.Tensor]) -> Callable[..., object]:
        def draw(*args: object, **options: object) -> object:
            found = original(*args, **options)
            mean = options.get("mean", args[0] if args else 0.0) if kind == "normal" else 0.0
            return found if draws.inside else noticed(kind, found, mean)

        return draw

    def in_place(original: Callable[..., torch.Tensor]) -> Callable[..., object]:
        def draw(each: torch.Tensor, *args: object, **options: object) -> object:
            found = original(each, *args, **options)
            if not draws.inside and type(each) is torch.Tensor:
                draws.seen("normal_")
                each.__class__ = noisy
                each.run, each.name_of_value = run, draws.names["normal_"]
            return found

        return draw

    def sampled(kind: str, original: Callable[..., torch.Tensor]) -> Callable[..., object]:
        def sample(law: torch.distributions.Distribution, *args: object, **options: object) -> object:
            draws.inside = True
            try:
                found = original(law, *args, **options)
            finally:
                draws.inside = False
            return noticed(kind, found, law.mean.expand(found.shape))

        return sample

    places: list[tuple[object, str, object]] = [
        (torch, kind, watched(kind, getattr(torch, kind))) for kind in draws.kinds("torch")
    ]
    places += [(torch.Tensor, kind, in_place(getattr(torch.Tensor, kind))) for kind in draws.kinds("torch.Tensor")]
    unwatched = [
        (torch, kind) for kind in ("rand", "rand_like", "randn", "randn_like", "normal", "poisson", "bernoulli")
    ]
    unwatched += [(torch.Tensor, f"{kind}_") for kind in ("normal", "exponential", "uniform", "cauchy", "log_normal")]
    unwatched = [(owner, kind) for owner, kind in unwatched if kind not in draws.names]
    places += [(owner, kind, draws.noted(getattr(owner, kind))) for owner, kind in unwatched]
    laws: dict[str, tuple[object, tuple[str, ...]]] = {"normal": (torch.distributions.Normal, ("sample", "rsample"))}
    laws["laplace"] = (torch.distributions.Laplace, ("rsample",))  # its `sample` calls that
    for kind in draws.kinds("torch.distributions"):
        law, methods = laws[kind]
        places += [(law, name, sampled(kind, getattr(law, name))) for name in methods]
    return places


@functools.cache
def _noticing_class():  # type: ignore[no-untyped-def]  # as above
    """The class of tensors that notice what they are added to."""
    import torch  # noqa: PLC0415 - torch may not be there

    def named(names: str) -> set[object]:
        owners = (torch, torch.Tensor)
        return {getattr(owner, name) for owner in owners for name in names.split() if hasattr(owner, name)}

    plus, minus = named("add add_ __add__ __radd__ __iadd__"), named("sub sub_ __sub__ __isub__")
    from_right, in_place, kept = named("__rsub__"), named("add_ __iadd__ sub_ __isub__"), named(_KEPT)

    class NoticingTensor(torch.Tensor):  # type: ignore[misc]  # as above
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # torch's
            """A sum with it is a release; a multiple of it is noise again; anything else is a plain tensor."""
            options = kwargs or {}
            parts = args[0] if args and isinstance(args[0], (list, tuple)) else args
            ours = [each for each in parts if isinstance(each, NoticingTensor)]
            one = len({(id(each.run), each.name_of_value) for each in ours}) == 1
            whole = one and (len(ours) == 1 if parts is args else len(ours) == len(parts))
            with torch._C.DisableTorchFunctionSubclass():
                summed = parts is args and len(ours) == 1 and len(args) == 2 and set(options) <= {"alpha"}
                if summed and function in plus | minus | from_right:
                    return cls._released(function, args, options.get("alpha", 1))
                result = function(*args, **options)
                if whole and function in kept and isinstance(result, (list, tuple)):
                    return tuple(cls.made(each, ours[0].run, ours[0].name_of_value) for each in result)
                if isinstance(result, torch.Tensor):
                    if whole and function in kept:
                        return cls.made(result, ours[0].run, ours[0].name_of_value)
                    if ours:
                        lost(ours[0].run, getattr(function, "__name__", str(function)))
                    return result.as_subclass(torch.Tensor) if isinstance(result, NoticingTensor) else result
                return result

        @classmethod
        def made(cls, drawn: torch.Tensor, run: DeclaredRun, name: str) -> NoticingTensor:
            tensor: NoticingTensor = drawn.as_subclass(cls)
            tensor.run, tensor.name_of_value = run, name
            return tensor

        @classmethod
        def _released(cls, function: object, args: tuple[Any, Any], alpha: float) -> torch.Tensor:
            first, second = (torch.as_tensor(each) for each in args)
            if function in minus:
                second = -second
            if function in from_right:
                first = -first
            first_is_noise = isinstance(args[0], cls)
            terms = torch.broadcast_tensors(first.as_subclass(torch.Tensor), alpha * second.as_subclass(torch.Tensor))
            noise, value = terms if first_is_noise else terms[::-1]
            ours = args[0] if first_is_noise else args[1]
            before, added, leaving = (each.detach().double().numpy().copy() for each in (value, noise, value + noise))
            released = torch.as_tensor(ours.run.release(ours.name_of_value, before, added, leaving)).to(value.dtype)
            if function in in_place:
                target = args[0].as_subclass(torch.Tensor)
                with torch.no_grad():
                    target.copy_(released)
                return target
            return released

    return NoticingTensor
