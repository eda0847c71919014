r"""What is run, described once.

A `Mechanism` says everything that the price of a run depends on; it is checked when it is made and never changes. There
is one small class an algorithm. `ledger()` gives its private releases, and `accountant.epsilon` prices them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from accountant.errors import InvalidQuantityError, UnsupportedSchemeError
from accountant.mechanisms.declaration import Declaration, RecordBounds, declared_ledger, releases_of
from accountant.mechanisms.fields import (
    Count,
    Field,
    MaybeNumber,
    MaybeText,
    choice,
    count,
    count_or,
    described,
    maybe_number,
    text,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import Step
from accountant.mechanisms.words import Noise, Visibility
from accountant.numbers import shown

CLIP = "C: every record's gradient is scaled down to this norm."
GROUP = "k, the records of one user: neighbours differ in at most so many; 1 protects single records."
NOISE = "Real Gaussian noise, or the exact discrete Gaussian (only Renyi bounds are proved for it)."
ON_GRID = (
    "rounding to the grid of discrete noise adds grid sqrt(p) to the sensitivity: count it in C or noise_multiplier"
)
"""What the price of discrete noise does not know (statement GRID); `dpadmm train` counts it."""
NORMALISE = "C: every record's features are scaled down to this norm, in place of clip."


@described
class Mechanism:
    """What is run. `algorithm` is its name everywhere; `calibrated` is the field that `dpadmm calibrate` finds."""

    algorithm: ClassVar[str]
    private: ClassVar[bool] = True
    calibrated: ClassVar[str] = "noise_multiplier"
    whole: ClassVar[tuple[str, ...]] = ()  # values that leave with noise, computed from all records
    batched: ClassVar[tuple[str, ...]] = ()  # the same, computed from the records of a batch
    computed: ClassVar[tuple[str, ...]] = ()  # values that are released without noise of their own

    name: MaybeText = text("What this mechanism is called in reports.", default=None)
    group_size: Count = count_or(GROUP, default=1)

    def __init_subclass__(cls) -> None:
        """Let every ledger say which mechanism it is of: a certificate is re-derived from its parameters."""
        own = cls.__dict__.get("ledger")
        if own is not None:
            setattr(cls, "ledger", _signed(own))  # noqa: B010 - mypy lets no method be assigned

    def __post_init__(self) -> None:
        """Refuse what is contradictory."""
        self.check()

    def check(self) -> None:
        """Refuse fields that are each right and contradict one another."""

    def ledger(self) -> Ledger:
        """Return the private releases of a whole run."""
        raise NotImplementedError

    def declaration(self) -> Declaration:
        """Return what is released and what protects it: `declared_ledger` of it has the same steps.

        Sensitivities that are known to be violated (E1) are not declared: the corrected ones are.
        """
        if not self.private:
            return Declaration((), bare=self.computed)
        ledger = self.ledger()
        steps = ledger.corrected or ledger.steps
        found = self._declared(steps)
        if declared_ledger(found).steps != steps:
            raise UnsupportedSchemeError(f"{self.title}: a declaration has no words for what is released here")
        return dataclasses.replace(found, computed=self.computed)

    def _declared(self, steps: tuple[Step, ...]) -> Declaration:
        return releases_of(steps, self.whole, self.batched or ("value",))

    @property
    def title(self) -> str:
        """The name, or the algorithm where no name was given."""
        return self.name or self.algorithm


def _signed(make: Callable[[Mechanism], Ledger]) -> Callable[[Mechanism], Ledger]:
    @functools.wraps(make)
    def ledger(self: Mechanism) -> Ledger:
        made = make(self)
        grouped = (f"neighbours differ in at most {self.group_size} records",) if self.group_size > 1 else ()
        discrete = any(getattr(step, "noise", Noise.GAUSSIAN) is Noise.DISCRETE for step in made.steps)
        return dataclasses.replace(made, mechanisms=(self,), notes=(*made.notes, *grouped, *(ON_GRID,) * discrete))

    return ledger


@described
class TrainingMechanism(Mechanism):
    """An algorithm that trains a model on records."""

    records: Count = count("n, the number of records (public, fixed).")
    iterations: Count = count("T, the number of iterations.")
    released: Field[Visibility, Visibility | str] = choice(
        Visibility,
        "What the adversary sees; the price is for every iterate.",
        default=Visibility.EVERY_ITERATE,
        priced=False,
    )

    def check(self) -> None:
        """Refuse a group of more records than there are, and one-step: it describes a game, not a run."""
        if self.group_size > self.records:
            raise InvalidQuantityError(
                f"group_size must be at most records={self.records}, got group_size={self.group_size}"
            )
        if self.released is Visibility.ONE_STEP:
            raise InvalidQuantityError(
                "released must be every-iterate or last-model, got released='one-step'; "
                "a run of one step is iterations=1"
            )

    def declaration(self) -> Declaration:
        """Return what is released and what protects it, with the bound of the records."""
        given = {kind: getattr(self, kind, None) for kind in (RecordBounds.CLIP, RecordBounds.NORMALISE)}
        kind = next((kind for kind, radius in given.items() if radius is not None), RecordBounds.UNKNOWN)
        return dataclasses.replace(super().declaration(), bounds=kind, radius=given.get(kind))


@described
class BoundedGradients(TrainingMechanism):
    """An algorithm whose records have gradients of norm at most C, by clipping or by normalising."""

    clip: MaybeNumber = maybe_number(CLIP, default=None)
    normalise: MaybeNumber = maybe_number(NORMALISE, default=None)

    def check(self) -> None:
        """Refuse two bounds."""
        super().check()
        if self.clip is not None and self.normalise is not None:
            raise InvalidQuantityError(
                f"give clip or normalise, not both, got clip={shown(self.clip)}, normalise={shown(self.normalise)}"
            )

    @property
    def bound(self) -> Fraction | None:
        """C, where it is known."""
        return self.normalise if self.clip is None else self.clip


@described
class GaussianNoise(BoundedGradients):
    """An algorithm with Gaussian noise of standard deviation sigma, or noise_multiplier times the sensitivity."""

    sigma: MaybeNumber = maybe_number("Standard deviation of each coordinate of the noise; needs C.", default=None)
    noise_multiplier: MaybeNumber = maybe_number(
        "In place of sigma: sigma over the replace-one sensitivity.", default=None
    )

    def check(self) -> None:
        """Refuse noise that is said twice or not at all, and a sigma without the C that it is to hide."""
        super().check()
        if (self.sigma is None) == (self.noise_multiplier is None) or (self.sigma is not None and self.bound is None):
            given = {name: getattr(self, name) for name in ("noise_multiplier", "sigma", "clip", "normalise")}
            values = ", ".join(f"{name}={value if value is None else shown(value)}" for name, value in given.items())
            raise InvalidQuantityError(
                f"give either noise_multiplier, or sigma and with it clip or normalise, got {values}"
            )

    def spread(self) -> Fraction | None:
        """Return sigma where there is one for all steps and it is known."""
        return self.sigma

    def multiplier(self, sensitivity: Callable[[Fraction], Fraction]) -> Fraction:
        """Return nu: as given, or sigma over the sensitivity at the bound C."""
        if self.noise_multiplier is not None:
            return self.noise_multiplier
        if self.sigma is None or self.bound is None:
            raise AssertionError("a checked mechanism has one kind of noise, and C where it needs it")
        return self.sigma / sensitivity(self.bound)


def at_each_step(name: str, values: tuple[Fraction, ...], iterations: int, needed: int) -> tuple[list[Fraction], int]:
    """Return a schedule value by value, and how often each stands: a constant schedule is not written out."""
    if len(values) == 1:
        return list(values) * (1 + needed - iterations), iterations
    if len(values) < needed or len(values) not in {iterations, needed}:
        raise InvalidQuantityError(
            f"{name} must be one value or {needed} values for iterations={iterations}, got {len(values)}"
        )
    return list(values), 1


def ledger_of(priced: Ledger | Mechanism) -> Ledger:
    """Return the ledger of a mechanism, or the ledger itself."""
    return priced if isinstance(priced, Ledger) else priced.ledger()
