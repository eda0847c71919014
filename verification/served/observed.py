"""Python code that is only observed: mark its noise function, or watch the draws of numpy and torch.

`noise("gradient")` decorates the function that draws noise, `drawn` the one that draws batches. Outside of an observed
run both do nothing. Inside one, the noise is an array that notices what it is added to: ``value + draw(...)`` releases
``value`` under that name. `serve_observed` makes an adapter of a training function from that.

Inside `watching` the calls of `WATCHED` give noise that notices, as if it came from a function decorated with `noise`;
``names`` says of which value: ``{"normal": "gradient"}``. Where the mean of such a draw is a value, that is released. A
run with a seed is seeded from it; without one, the code draws exactly as it does in production, from the generators
and seeds that it chose itself. `Observed` repeats runs with the same randomness: what then differs is drawn elsewhere.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import ClassVar, ParamSpec
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from verification.served.declared import Declare, DeclaredRun, serve_declared
from verification.served.numpy_noise import LOST, NoticingNoise, caller, following, noticing
from verification.served.serve import NotOfferedError
from verification.served.torch_noise import torch_places
from verification.wire.arrays import Floats
from verification.wire.declaration import Declaration, NoiseKind, OpaqueParameters
from verification.wire.records import Records

_P = ParamSpec("_P")
Train = Callable[[Floats, Floats, OpaqueParameters], object]
Reseed = Callable[[int], object]
Names = Mapping[str, str]
Place = tuple[MutableMapping[str, object], str]
WATCHED: dict[str, tuple[str, ...]] = {
    "normal": ("np.random", "RandomState", "Generator", "torch", "torch.distributions"),
    "standard_normal": ("np.random", "RandomState", "Generator"),
    "multivariate_normal": ("np.random", "RandomState", "Generator"),
    "randn": ("np.random", "RandomState", "torch"),
    "laplace": ("np.random", "RandomState", "Generator", "torch.distributions"),
    "randn_like": ("torch",),
    "normal_": ("torch.Tensor",),
}
"""The draws that can be watched, and of what; of torch's distributions, `sample` and `rsample` of that kind."""
_GENERATOR, _STATE, _DEFAULT_RNG = np.random.Generator, np.random.RandomState, np.random.default_rng
_AROUND_A_MEAN = ("normal", "laplace", "multivariate_normal")
_COULD_BE_NOISE = (
    *WATCHED, "exponential", "standard_exponential", "gamma", "standard_gamma", "gumbel", "logistic", "random", "rand",
    "random_sample", "uniform", "poisson", "geometric", "binomial", "standard_cauchy", "standard_t",
)  # fmt: skip
_PYTHON_RANDOM = sorted(
    name
    for name in set(random.__all__) - {"seed", "getstate", "setstate"}
    if getattr(getattr(random, name), "__self__", None) is not None
)
_SYSTEM = ((os, "urandom"), (random, "_urandom"))
_HERE, _STANDARD = str(Path(__file__).parents[1]), str(Path(os.__file__).parent)
_CHECKED, _CHECKED_AT_MOST = 3, 20
_ALIKE = 2.0**-18
"""Two runs with the same randomness agree so far, relative to their numbers: sums of threads are rounded variously."""


# -- functions that are marked -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Kept:
    """The draws of one run in their order, by what draws them, so that another one can have the same."""

    drawn: dict[str, list[object]] = field(default_factory=dict)
    given: Mapping[str, list[object]] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)  # draws that nothing here repeats, with their places
    watched: Counter[str] = field(default_factory=Counter)  # draws that notice, by their lines
    unwatched: Counter[str] = field(default_factory=Counter)  # draws of numbers that could be noise and do not notice
    lost: Counter[str] = field(default_factory=Counter)  # what made plain numbers of noise
    from_system: bool = False  # whether the system gave bytes since a generator was seeded last

    def next(self, kind: str, draw: Callable[[], object]) -> object:
        """The next draw of this kind: that of the run to be repeated, as far as it goes."""
        mine, given = self.drawn.setdefault(kind, []), self.given.get(kind, [])
        mine.append(given[len(mine)] if len(mine) < len(given) else draw())
        return mine[-1]


_RUN: contextvars.ContextVar[tuple[DeclaredRun, Kept] | None] = contextvars.ContextVar("observed run", default=None)


def noise(name: str) -> Callable[[Callable[_P, Floats]], Callable[_P, Floats]]:
    """Decorate the function that draws the noise of a value."""

    def decorate(draw: Callable[_P, Floats]) -> Callable[_P, Floats]:
        @functools.wraps(draw)
        def observed(*args: _P.args, **kwargs: _P.kwargs) -> Floats:
            observation = _RUN.get()
            if observation is None:
                return draw(*args, **kwargs)
            run, kept = observation
            kept.watched[f"{draw.__name__} ({caller()})"] += 1
            return noticing(run, name, kept.next(name, lambda: np.array(draw(*args, **kwargs), dtype=np.float64)))

        return observed

    return decorate


def drawn(draw: Callable[_P, Iterable[int]]) -> Callable[_P, NDArray[np.intp]]:
    """Decorate the function that draws the records of a step."""

    @functools.wraps(draw)
    def observed(*args: _P.args, **kwargs: _P.kwargs) -> NDArray[np.intp]:
        batch, observation = np.asarray(list(draw(*args, **kwargs)), dtype=np.intp), _RUN.get()
        return batch if observation is None else observation[0].taken_batch(batch)

    return observed


def observe(
    train: Train, data: Records, parameters: OpaqueParameters, run: DeclaredRun, kept: Kept | None = None
) -> object:
    """Train once and keep every release in the run; return what the training function returned."""
    kept = kept or Kept()
    token, lost = _RUN.set((run, kept)), LOST.set(kept.lost)
    try:
        return train(data.features, data.labels.astype(np.float64), parameters)
    finally:
        _RUN.reset(token)
        LOST.reset(lost)


# -- an adapter --------------------------------------------------------------------------------------------------------


def serve_observed(
    name: str,
    declare: Declare,
    train: Train,
    *,
    returns: str | None = None,
    reseed: Reseed | None = None,
    watch: Names | None = None,
) -> None:
    """Serve ``train(features, labels, parameters)``, whose noise function is decorated, or whose draws are watched.

    ``returns`` names the value that it returns, if that is computed from released ones; ``reseed(seed)`` makes its
    randomness repeatable, such as ``np.random.seed``. ``watch`` names the value of each kind of draw of numpy and
    torch, ``{"normal": "gradient"}``, and seeds them as well.
    """
    observed = Observed(train, returns, reseed, watch or {}, declare)
    serve_declared(name, declare, observed, seeded=reseed is not None or bool(watch))


class Observed:
    """Runs a training function; refuses to go on where nothing that was seen says what a record does.

    The first runs are repeated, and so are some that call a source of randomness which is known and not watched. The
    second has the noise, the generators and the batches of the first. Where they differ, something else is random, and
    no comparison of runs would show what a record does. Nor would it where noise is drawn and no sum with it is seen,
    or only sums with zero: then it is the noise, and not the value, that the sum is of.
    """

    def __init__(
        self, train: Train, returns: str | None, reseed: Reseed | None, watch: Names, declare: Declare | None = None
    ) -> None:
        unknown = sorted(set(watch) - set(WATCHED))
        if unknown:
            raise ValueError(f"watch knows {', '.join(WATCHED)}, got {', '.join(unknown)}")
        self._train, self._returns, self._reseed, self._watch = train, returns, reseed, watch
        self._declare = declare
        self._checked, self._refused = 0, ""
        self._moved: set[str] = set()  # values that were not zero

    def __call__(self, data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        """One run, repeated where that is due."""
        if self._refused:
            raise NotOfferedError(self._refused)
        before, kept, declared = _states(), Kept(), self._declared(data, parameters)
        self._once(data, parameters, run, kept)
        self._refuse(_unseen(run, self._watch, declared, kept))
        if self._checked < (_CHECKED_AT_MOST if kept.elsewhere else _CHECKED):
            self._checked += 1
            again, after = run.again(), _states()
            _set_states(before)
            try:
                self._once(data, parameters, again, Kept(given=kept.drawn))
                different = _difference(run, again)
            except Exception as error:
                different = f"the second ends with {type(error).__name__}: {error}"
            _set_states(after)
            self._refuse(_unwatched(different, kept.elsewhere) if different else "")
            self._refuse(self._still_zero(run, kept))
        if declared is not None:
            _join(run, declared)

    def _refuse(self, reason: str) -> None:
        if reason:
            self._refused = reason
            raise NotOfferedError(reason)

    def _declared(self, data: Records, parameters: OpaqueParameters) -> Declaration | None:
        if self._declare is None:
            return None
        told = {"name": "observed", **self._declare(parameters, len(data.labels), int(data.features.shape[1]))}
        return Declaration.model_validate_json(json.dumps(told))

    def _still_zero(self, run: DeclaredRun, kept: Kept) -> str:
        """Why nothing is known of a value: all that its noise was added to so far is zero."""
        noised = {name: run.shown(name) for name in run.order if run.shown(name)[0][1] is not None}
        for name, shown in noised.items():
            earlier = [np.zeros(1), *(released for released, _, _ in shown)]
            if any(not _among(before, earlier[: k + 1]) for k, (_, before, _) in enumerate(shown)):
                self._moved.add(name)
        zero = sorted(set(noised) - self._moved)
        if self._checked < _CHECKED or not zero:
            return ""
        return (
            f"the noise of {', '.join(zero)} was added to nothing but zero in {_CHECKED} runs, as where it is summed "
            f"on its own: what it protects was not seen. {_drawn(kept)}"
        )

    def _once(self, data: Records, parameters: OpaqueParameters, run: DeclaredRun, kept: Kept) -> None:
        run.in_parts = self._declare is not None
        if self._reseed is not None and run.seed is not None:
            self._reseed(run.seed % (1 << 32))
        with watching(run, self._watch, self._train, kept):
            result = observe(self._train, data, parameters, run, kept)
        if self._returns is not None:
            run.processed(self._returns, np.asarray(result, dtype=np.float64))


def _among(value: Floats | None, others: list[Floats]) -> bool:
    """Whether it is one of the others in all of its numbers."""
    return value is None or any(other.shape in (np.shape(value), (1,)) and np.all(value == other) for other in others)


def _join(run: DeclaredRun, declared: Declaration) -> None:
    """Take what code adds noise to part by part (a coordinate, a layer, a party) as the releases that are declared.

    That is no less strict: neighbours are compared at the same released values, and all parts of a release together may
    move as far as is declared. Where the parts do not add up to releases of one length, equal ones are left as they
    are, more than declared; others cannot be judged.
    """
    for value in declared.noised:
        parts, count = run.shown(value.name), declared.releases(value)
        sizes = [released.size for released, _, _ in parts]
        independent = value.noise in (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE, NoiseKind.DISCRETE)
        each = len(parts) // count
        widths = {sum(sizes[k : k + each]) for k in range(0, len(parts), each or 1)}
        if len(parts) <= count or not independent:
            continue
        if declared.stopping == "fixed" and len(parts) % count == 0 and len(widths) == 1:
            run.join(value.name, count)
        elif declared.stopping != "fixed" or len(set(sizes)) > 1:
            raise NotOfferedError(
                f"noise of {value.name} is added in {len(parts)} parts, of {sorted(set(sizes))} numbers, and {count} "
                "releases are declared: which parts are one release cannot be told. Draw the noise of a release at "
                "once, or declare as many releases (`count`) as there are parts"
            )


def _unseen(run: DeclaredRun, watch: Names, declared: Declaration | None, kept: Kept) -> str:
    """Why no noise of a value was seen to be added; empty where it was."""
    names = set(watch.values()) if declared is None else {value.name for value in declared.noised}
    missing = sorted(names - set(run.order))
    return f"no noise was seen to be added to {', '.join(missing)}. {_drawn(kept)}" if missing else ""


def _drawn(kept: Kept) -> str:
    """What was drawn, where it went, and what to do."""

    def listed(found: Counter[str]) -> str:
        return "; ".join(f"{what}, {count} times" for what, count in found.most_common(4))

    remedy = "Add the noise to the value as an array (`value + noise`), name its draw in `watch`, or decorate the "
    told = [
        f"Drawn and watched: {listed(kept.watched) or 'nothing'}.",
        f"No longer followed after: {listed(kept.lost)}." if kept.lost else "",
        f"Drawn, but not watched: {listed(kept.unwatched)}." if kept.unwatched else "",
        f"{remedy}function that draws it with @noise and return an array from it",
    ]
    return " ".join(each for each in told if each)


def _difference(first: DeclaredRun, second: DeclaredRun) -> str:
    """Which value differs between two runs, in words; empty if none does."""
    if first.order != second.order:
        return "their releases differ in number or order"
    for name in dict.fromkeys(first.order):
        for one, other in zip(first.shown(name), second.shown(name), strict=True):
            for a, b in zip(one, other, strict=True):
                if a is not None and b is not None:
                    size = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
                    if a.shape != b.shape or np.abs(a - b).max(initial=0.0) > _ALIKE * size:
                        return f"{name} differs"
    return ""


def _unwatched(different: str, elsewhere: Mapping[str, str]) -> str:
    """The reason of a refusal, with what to do."""
    found = "; ".join(f"{name} ({place})" for name, place in elsewhere.items())
    text = f"two runs on the same data with the same watched noise are different: {different}. Drawn elsewhere: "
    text += found or "by no call that is known here (a generator kept in an object, a compiled library, time, threads)"
    hint = "draw from numpy or torch, or decorate the function that draws it (@noise for noise, @drawn for batches)"
    return f"{text}. {hint}; state that is kept between runs has the same effect"


# -- draws that are watched ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(run: DeclaredRun, names: Names, train: Callable[..., object], kept: Kept | None = None) -> Iterator[None]:
    """Watch the draws that have these names, of numpy and, where it is imported, of torch."""
    kept = kept or Kept()
    draws = Draws(run, names, kept)
    fresh, seeds = np.random.PCG64(run.seed), _DEFAULT_RNG(run.seed)

    def entropy(given: object = None) -> object:
        """What seeds a generator: where the code asked the system for it, the run's own, which repeats."""
        if given is not None and (not kept.from_system or isinstance(given, np.random.BitGenerator | _GENERATOR)):
            return given
        kept.from_system, known = False, given if run.seed is None else int(seeds.integers(1 << 32))
        return kept.next("entropy", lambda: np.random.SeedSequence().entropy if known is None else known)

    generator, state = draws.of(_GENERATOR), draws.of(_STATE, entropy)

    def default_rng(seed: object = None) -> np.random.Generator:
        if seed is None and run.seed is not None:
            return generator(fresh)
        return generator(_DEFAULT_RNG(entropy(seed)).bit_generator)  # type: ignore[arg-type]  # whatever it is called with

    def instead_of(value: object) -> object:
        if isinstance(value, _GENERATOR) and type(value) is _GENERATOR:
            return generator(fresh if run.seed is not None else value.bit_generator)
        if isinstance(value, _STATE) and type(value) is _STATE:
            return state(np.random.MT19937(run.seed) if run.seed is not None else value._bit_generator)
        return replaced.get(id(value), value)

    with contextlib.ExitStack() as stack:
        if run.seed is not None:
            stack.callback(_set_states, _states())
            np.random.seed(run.seed % (1 << 32))  # noqa: NPY002 - the one that old code draws from
        reseed = np.random.seed
        shared = state(np.random.mtrand._rand._bit_generator)  # the generator of numpy's functions
        places: list[tuple[object, str, object]] = [
            (np.random, "default_rng", default_rng),
            (np.random, "seed", lambda seed=None: reseed(entropy(seed))),  # type: ignore[arg-type]  # as above
            (np.random, "Generator", generator),
            (np.random, "RandomState", state),
            (np.random.mtrand, "_rand", shared),
            *((np.random, kind, draws.watched(kind, getattr(np.random, kind))) for kind in draws.kinds("np.random")),
            *((np.random, kind, draws.noted(getattr(np.random, kind))) for kind in draws.others(np.random)),
            *following(),
        ]
        if "torch" in sys.modules:
            places += torch_places(run, draws)
        places += [*_elsewhere(kept), *_of_scipy(draws)]
        replaced = {id(getattr(owner, name)): instead for owner, name, instead in places}
        for module, name in _places(train):
            original, instead = module[name], instead_of(module[name])
            if instead is not original:
                module[name] = instead
                stack.callback(_put_back, module, name, instead, original)
        for owner, name, instead in places:
            stack.enter_context(mock.patch.object(owner, name, instead))
        yield


class Draws:
    """Makes watched draws of one run; `sites` are the lines that draw around a value, in this run or another."""

    sites: ClassVar[set[str]] = set()

    def __init__(self, run: DeclaredRun, names: Names, kept: Kept) -> None:
        self.run, self.names, self.kept = run, names, kept
        self.inside = False  # of a draw that is watched as a whole

    def kinds(self, owner: str) -> list[str]:
        """The draws of an owner that are named."""
        return [kind for kind in self.names if owner in WATCHED[kind]]

    def others(self, owner: object) -> list[str]:
        """The draws of an owner that could be noise and are not named."""
        return [kind for kind in _COULD_BE_NOISE if hasattr(owner, kind) and kind not in self.names]

    def seen(self, kind: str) -> None:
        """Keep that a draw was made that is watched."""
        self.kept.watched[f"{kind} ({caller()})"] += 1

    def noted(self, original: Callable[..., object]) -> Callable[..., object]:
        """The same draw; only that it was made is kept."""

        def draw(*args: object, **options: object) -> object:
            self.kept.unwatched[f"{original.__qualname__} ({caller()})"] += 1
            return original(*args, **options)

        return draw

    def watched(self, kind: str, original: Callable[..., object]) -> Callable[..., object]:
        """The same draw, as noise that notices, or as a release of its mean."""

        def draw(*args: object, **options: object) -> object:
            self.seen(kind)
            into = options.get("out")
            if isinstance(into, NoticingNoise):
                original(*args, **options)
                into[...] = self.noise(kind, np.array(into.view(np.ndarray)))
                return into
            found = np.asarray(original(*args, **options))
            mean = np.asarray(options.get("loc", options.get("mean", args[0] if args else 0.0)))
            sized = len(args) > 2 or "size" in options
            if kind not in _AROUND_A_MEAN or not self.releases(mean.any(), alone=mean.ndim == 0 and sized):
                return self.noise(kind, found)
            return mean + self.noise(kind, found - mean)

        return draw

    def noise(self, kind: str, found: Floats) -> NoticingNoise:
        """Noise of the value that this kind of draw protects."""
        return noticing(self.run, self.names[kind], found)

    def releases(self, nonzero: object, *, alone: bool) -> bool:
        """Whether a draw releases its mean: it is not zero, here or in another run, and not one number for many."""
        place = caller()
        if nonzero and not alone:
            self.sites.add(place)
        return place in self.sites

    def of(self, base: type, entropy: Callable[[object], object] | None = None) -> Callable[..., np.random.Generator]:
        """A class of generators of numpy whose named draws are watched; `entropy` seeds those without a seed."""

        def method(kind: str) -> Callable[..., object]:
            original = getattr(base, kind)
            return lambda each, *args, **options: self.watched(kind, functools.partial(original, each))(
                *args, **options
            )

        def made(each: object, seed: object = None) -> None:
            found = seed if entropy is None else entropy(seed)
            base.__init__(each, found % (1 << 32) if seed is None and isinstance(found, int) else found)  # type: ignore[misc]  # one of two classes

        def noted(kind: str) -> Callable[..., object]:
            told = self.noted(getattr(base, kind))
            return lambda each, *args, **options: told(each, *args, **options)  # noqa: PLW0108

        methods = {kind: noted(kind) for kind in self.others(base)}
        methods |= {kind: method(kind) for kind in self.kinds(base.__name__)}
        return _Same(f"Watched{base.__name__}", (base,), {**methods, "__init__": made})


class _Same(type):
    """A class that stands for the one it is derived from also where instances are checked."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])


def _elsewhere(kept: Kept) -> list[tuple[object, str, object]]:
    """Sources that are called as ever, and are noted."""

    def noted(name: str, original: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            kept.elsewhere.setdefault(name, caller())
            kept.from_system |= name == "os.urandom"
            return original(*args, **options)

        return call

    places: list[tuple[object, str, object]] = [
        (random, name, noted(f"random.{name}", getattr(random, name))) for name in _PYTHON_RANDOM
    ]
    return [*places, *((owner, name, noted("os.urandom", os.urandom)) for owner, name in _SYSTEM)]


def _of_scipy(draws: Draws) -> list[tuple[object, str, object]]:
    """The draws of scipy's distributions, which keep generators for themselves."""
    parts = {"_distn_infrastructure": ("rv_generic",), "_multivariate": ("multivariate_normal_gen",)}
    found: list[tuple[object, str, object]] = []
    for module, names in parts.items():
        loaded = sys.modules.get(f"scipy.stats.{module}")
        owners = [getattr(loaded, name) for name in names if hasattr(loaded, name)]
        found += [(owner, "rvs", draws.noted(owner.rvs)) for owner in owners]
    return found


def _places(train: Callable[..., object]) -> list[Place]:
    """Where modules keep generators, and functions that draw: of what is imported now."""
    found = list(_module_places(len(sys.modules)))
    if isinstance(train, FunctionType):
        found += [(train.__globals__, name) for name in train.__globals__]
    return found


@functools.lru_cache(maxsize=1)
def _module_places(_count: int) -> list[Place]:
    known = {id(each) for each in (_GENERATOR, _STATE, _DEFAULT_RNG, os.urandom)}
    known |= {id(getattr(random, name)) for name in _PYTHON_RANDOM}
    known |= {id(getattr(np.random, kind)) for kind, owners in WATCHED.items() if "np.random" in owners}
    torch = sys.modules.get("torch")
    known |= {id(getattr(torch, kind)) for kind, owners in WATCHED.items() if torch and "torch" in owners}
    found: list[Place] = []
    for name, module in list(sys.modules.items()):
        file = str(getattr(module, "__file__", None) or "")
        if not file.startswith(_HERE) and name.split(".")[0] not in {"numpy", "torch", "random", "secrets", "os"}:
            places = vars(module) if hasattr(module, "__dict__") else {}
            found += [(places, key) for key, value in places.items() if id(value) in known or _kept_generator(value)]
            if file and not file.startswith(_STANDARD) and "site-packages" not in file:
                found += [place for value in places.values() for place in _object_places(value)]
    return found


def _object_places(value: object) -> list[Place]:
    """Where an object of a module keeps generators."""
    inside = getattr(value, "__dict__", None)
    if isinstance(value, ModuleType) or type(inside) is not dict:
        return []
    return [(inside, key) for key, each in inside.items() if _kept_generator(each)]


def _kept_generator(value: object) -> bool:
    return type(value) in (_GENERATOR, _STATE)


def _put_back(module: MutableMapping[str, object], name: str, instead: object, original: object) -> None:
    if module.get(name) is instead:
        module[name] = original


def _states() -> tuple[object, object, list[tuple[object, object]]]:
    """Where numpy's and torch's own generators are, and those that modules keep."""
    torch = sys.modules.get("torch")
    kept = [module[name] for module, name in _module_places(len(sys.modules)) if _kept_generator(module.get(name))]
    bits = [getattr(each, "bit_generator", None) or each._bit_generator for each in kept]  # type: ignore[attr-defined]
    return (
        np.random.get_state(),  # noqa: NPY002 - the one that old code draws from
        torch.get_rng_state() if torch else None,
        [(each, each.state) for each in bits],
    )


def _set_states(states: tuple[object, object, list[tuple[object, object]]]) -> None:
    np.random.set_state(states[0])  # type: ignore[arg-type]  # noqa: NPY002 - as above
    if states[1] is not None:
        sys.modules["torch"].set_rng_state(states[1])
    for bits, state in states[2]:
        bits.state = state  # type: ignore[attr-defined]  # a bit generator
