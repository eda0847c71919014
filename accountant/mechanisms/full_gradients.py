r"""Noise on models computed from all records: [CL20] Algorithm 2, and DP-ADMM.

Sensitivities are for replaced records: Delta(x) = 2C/(n (rho + 1/eta)) (E1 corrected), k times that for a group of k,
since the mean gradient moves k times as far and every map after it is Lipschitz. The citations of DP-ADMM (Huang
et al. 2019) and ADMM-objP follow the paper's Related Work; its Baselines section swaps them (E6).

The Lipschitz constant of a regularizer's proximal map, and what it does to the sensitivity of z and y (E11).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.declaration import Declaration
from accountant.mechanisms.fields import (
    Count,
    Field,
    MaybeNumber,
    Number,
    Schedule,
    choice,
    count_or,
    described,
    maybe_choice,
    maybe_number,
    number,
    schedule,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import NOISE, GaussianNoise, at_each_step
from accountant.mechanisms.quantities import positive
from accountant.mechanisms.steps import GaussianStep, Step
from accountant.mechanisms.words import Accounting, Noise, Release, Sensitivity
from accountant.numbers import Exact, shown


@dataclass(frozen=True, slots=True)
class Proximal:
    """Lipschitz constant of the proximal map of the regularizer: 1 where it is convex (firmly nonexpansive)."""

    lipschitz: Fraction = Fraction(1)

    @classmethod
    def scad(cls, a: Exact, rho: Exact) -> Proximal:
        """Return L = (a-1)/(a-1-tau), tau = 1/rho; refused where the map jumps (E11)."""
        shape, tau = positive("a", a), 1 / positive("rho", rho)
        if shape <= 1 + tau:
            raise InvalidQuantityError(
                f"SCAD needs a > 1 + 1/rho = {shown(1 + tau)} for its proximal map to be Lipschitz, got a={a}; "
                "release='primal' needs no such constant"
            )
        return cls((shape - 1) / (shape - 1 - tau))

    @classmethod
    def mcp(cls, gamma: Exact, rho: Exact) -> Proximal:
        """Return L = gamma/(gamma-tau), tau = 1/rho; refused where the map jumps (E11)."""
        shape, tau = positive("gamma", gamma), 1 / positive("rho", rho)
        if shape <= tau:
            raise InvalidQuantityError(
                f"MCP needs gamma > 1/rho = {shown(tau)} for its proximal map to be Lipschitz, got gamma={gamma}; "
                "release='primal' needs no such constant"
            )
        return cls(shape / (shape - tau))

    def joint_factor(self, rho: Fraction) -> Fraction:
        r"""Return joint^2 / Delta(x)^2 (E11); with L = 1 it is the 1 + max(1, rho^2) of every convex regularizer."""
        L = self.lipschitz
        return 1 + max(rho**2, L**2 + rho**2 * (L - 1) ** 2)

    def separate_factor(self, rho: Fraction) -> Fraction:
        r"""Return (Delta(x)^2 + Delta(z)^2 + Delta(y)^2) / Delta(x)^2."""
        L = self.lipschitz
        return 1 + L**2 + (rho * max(Fraction(1), L - 1)) ** 2


@described
class NoisyModels(GaussianNoise):
    """An algorithm that adds noise to its model; eta and rho decide how far one record moves it."""

    calibrated: ClassVar[str] = "sigma"

    eta: Schedule = schedule("eta, the step size: once, or once an iteration (eta^0 first).")
    rho: Number = number("rho, the penalty parameter.")

    def ratios(self, averaged: int, etas: list[Fraction], factor: Fraction) -> list[Fraction]:
        r"""Return (Delta(x)/sigma)^2 step by step; `factor` times its square is what a noise multiplier refers to."""
        if self.noise_multiplier is not None:
            return [self.group_size**2 / (factor * self.noise_multiplier**2)] * len(etas)
        unit = self.multiplier(lambda C: 2 * C * self.group_size / averaged)
        return [1 / (unit * (self.rho + 1 / step)) ** 2 for step in etas]


@described
class MpADMM(NoisyModels):
    """Algorithm 2: noisy x, z and y after every iteration (or noisy x alone), computed from all records.

    `accounting` is joint by default, and separate for the printed sensitivities, as the paper has it. Printed
    sensitivities use eta^{k+1} (E2), so a varying `eta` then needs one value more; where one of them is smaller than
    the truth the ledger is not `sound` and carries the corrected steps.
    """

    algorithm: ClassVar[str] = "mpadmm"
    whole: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    release: Field[Release, Release | str] = choice(
        Release, "Noisy x, z and y, or noisy x with z and y computed from it.", default=Release.ALL, stated=True
    )
    sensitivity: Field[Sensitivity, Sensitivity | str] = choice(
        Sensitivity,
        "The corrected Delta(x) = 2C eta/(n(1+eta rho)), or the paper's (erratum E1: too small for eta > 1).",
        default=Sensitivity.CORRECTED,
    )
    accounting: Field[Accounting | None, Accounting | str | None] = maybe_choice(
        Accounting, "x, z, y as one joint release, or as three; default: joint, and separate if printed.", default=None
    )
    a: MaybeNumber = maybe_number("The shape a of SCAD, where that is the regularizer (E11).", default=None)
    gamma: MaybeNumber = maybe_number("The shape gamma of MCP, where that is the regularizer (E11).", default=None)
    lipschitz: MaybeNumber = maybe_number(
        "Lipschitz constant of another regularizer's proximal map; 1 for every convex one.", default=None
    )
    noise: Field[Noise, Noise | str] = choice(Noise, NOISE, default=Noise.GAUSSIAN)

    def check(self) -> None:
        """Refuse two regularizers, schedules of another length, and printed multiples of a sensitivity."""
        super().check()
        given = [name for name in ("a", "gamma", "lipschitz") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidQuantityError(f"there is one regularizer: give one of a, gamma and lipschitz, got {given}")
        if self.sensitivity is Sensitivity.PRINTED and self.noise_multiplier is not None:
            raise InvalidQuantityError(
                "sensitivity='printed' needs sigma: a multiple of a wrong sensitivity is unclear"
            )
        self._etas()
        self.proximal()

    def _etas(self) -> tuple[list[Fraction], int]:
        needed = self.iterations + (self.sensitivity is Sensitivity.PRINTED)
        return at_each_step("eta", self.eta, self.iterations, needed)

    def proximal(self) -> Proximal:
        """Return the Lipschitz constant that prices z and y; none is needed where only x is released."""
        if self.release is Release.PRIMAL:
            return Proximal()
        if self.a is not None:
            return Proximal.scad(self.a, self.rho)
        if self.gamma is not None:
            return Proximal.mcp(self.gamma, self.rho)
        return Proximal() if self.lipschitz is None else Proximal(self.lipschitz)

    def _factor(self) -> Fraction:
        """Return how many times Delta(x)^2 one iteration costs."""
        if self.release is Release.PRIMAL:
            return Fraction(1)
        printed = self.sensitivity is Sensitivity.PRINTED
        if self.accounting is Accounting.SEPARATE or (self.accounting is None and printed):
            return self.proximal().separate_factor(self.rho)
        return self.proximal().joint_factor(self.rho)

    def declaration(self) -> Declaration:
        """Return noisy x, z and y, or noisy x with z and y computed from it."""
        found = super().declaration()
        if self.release is Release.ALL:
            return found
        alone = tuple(replace(release, names=("x",)) for release in found.releases)
        return replace(found, releases=alone, computed=("z", "y"))

    def ledger(self) -> Ledger:
        r"""Return one Gaussian release an iteration, as the chosen sensitivity has it."""
        (etas, times), factor, proximal = self._etas(), self._factor(), self.proximal()
        whole = self.release is Release.ALL
        joint = proximal.joint_factor(self.rho) if whole else Fraction(1)
        true = self.ratios(self.records, etas[: self.iterations // times], joint)
        convex = proximal.lipschitz == 1 and whole
        attained = (1 + max(Fraction(1), self.rho**2)) if convex else Fraction(1)
        realisable = _grouped([attained * x for x in true], times, self.noise) if self.noise is Noise.GAUSSIAN else ()
        corrected = _grouped([factor * x for x in true], times, self.noise)
        if self.sensitivity is Sensitivity.CORRECTED:
            return Ledger(corrected, realisable)
        # Delta(x) as printed lacks a factor eta, and takes the step after (E1, E2)
        printed = [x / step**2 for x, step in zip(self.ratios(self.records, etas[1:], joint), etas[1:], strict=True)]
        steps = _grouped([factor * x for x in printed], times, self.noise)
        if all(claimed >= truth for claimed, truth in zip(printed, true, strict=True)):
            return Ledger(steps, realisable, notes=("printed sensitivities (E1): valid here, looser than the truth",))
        worst = max(truth / claimed for claimed, truth in zip(printed, true, strict=True))
        note = f"printed sensitivities (E1) are violated here: the RDP is up to {shown(worst)} times larger"
        return Ledger(steps, realisable, corrected, notes=(note,))


def _grouped(ratios: list[Fraction], times: int, noise: Noise) -> tuple[Step, ...]:
    """Return one step per run of equal (Delta/sigma)^2, each of them taken `times` times."""
    return tuple(
        GaussianStep(ratio, times * sum(1 for _ in repeats), noise) for ratio, repeats in itertools.groupby(ratios)
    )


@described
class DPADMM(NoisyModels):
    """DP-ADMM (Huang et al. 2019): full local gradients, noise on every party's x.

    One record lives in one party, so the whole costs what the smallest party costs; nothing is amplified.
    """

    algorithm: ClassVar[str] = "dpadmm"
    whole: ClassVar[tuple[str, ...]] = ("x",)
    computed: ClassVar[tuple[str, ...]] = ("z", "y")

    parties: Count = count_or("Equal parties that share the records.", default=2, stated=True)

    def check(self) -> None:
        """Refuse a party without records, and schedules of another length."""
        super().check()
        if self.records < self.parties:
            raise InvalidQuantityError(
                f"parties must be at most records, got parties={self.parties}, records={self.records}"
            )
        at_each_step("eta", self.eta, self.iterations, self.iterations)

    def ledger(self) -> Ledger:
        r"""Return one release an iteration, Delta = 2C eta/(n_i(1+eta rho)) of the smallest party."""
        etas, times = at_each_step("eta", self.eta, self.iterations, self.iterations)
        steps = _grouped(self.ratios(self.records // self.parties, etas, Fraction(1)), times, Noise.GAUSSIAN)
        alone = self.group_size <= self.records // self.parties  # a group that one party holds
        return Ledger(steps, realisable=steps if alone else ())
