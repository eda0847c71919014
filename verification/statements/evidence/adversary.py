"""Statements LEADER and ADAPTIVE: what an adversary on fixed-size batches cannot exceed, and what one attains."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from accountant.errors import CertificateError
from accountant.pld.adversary.attained import adaptive_delta_lower
from accountant.pld.adversary.certificates import certificate_for
from accountant.pld.adversary.ordering import Ordering, check
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.composition import compose
from accountant.pld.types import Frame
from accountant.profiles.one_step import SubsampledGaussian
from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind
from verification.wire.arrays import Floats

Q, MU, STEPS = 0.1, 1.0, 3
EPSILONS = (0.0, 0.1, 0.3, 0.7)
SLACK = 1e-3
"""The attacks are computed in binary64 with linear interpolation, good to less than this."""
POLICIES = 20
CENTRES = (0.0, 0.25, 0.5, 0.75, 1.0)
FORWARD_AND_REVERSE = (0.0, 1.0)
CLOSE = 0.97
"""How much of the dynamic programme the certified lower end must keep: a lower end of 0 would be true and useless."""


def certificate_holds() -> Evidence:
    """Every box of a cover of all triples is tested in outward-rounded arithmetic, for windows and for stairs."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rounding is bounded
        found = certificate_for(Q, MU)
        check(found)
        boxes = found.windows.count("k"), sum(entry.cover.count("k") for entry in found.stairs)
        return EvidenceResult.check(True, f"q={Q}, nu={1 / MU}: {boxes[0]} boxes for windows, {boxes[1]} for stairs")

    return Evidence("cover of the triples", Kind.ENCLOSURE, run)


def incomplete_certificates_fail() -> Evidence:
    """A box forgotten, a smaller leader, no share at all: none passes."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rounding is bounded
        found = certificate_for(Q, MU)
        wrong = {
            "a box forgotten": replace(found, windows=found.windows[:-1]),
            "half the share": replace(found, single=replace(found.single, share=found.single.share / 2)),
            "the forward pair alone": with_stairs(found, share=0.0, lift=0.0),
        }
        passed = [name for name, certificate in wrong.items() if _passes(certificate)]
        return EvidenceResult.check(not passed, f"incomplete certificates that passed: {', '.join(passed) or 'none'}")

    return Evidence("incomplete certificates are refused", Kind.ENCLOSURE, run)


def with_stairs(found: Ordering, *, share: float, lift: float) -> Ordering:
    """Return the certificate with another leader for its first stairs."""
    first, *others = found.stairs
    return replace(found, stairs=(replace(first, leader=replace(first.leader, share=share, lift=lift)), *others))


def _passes(certificate: Ordering) -> bool:
    try:
        check(certificate)
    except CertificateError:
        return False
    return True


def adaptive_attacks() -> Evidence:
    """The best of five triples before each step, and random policies: dynamic programming never exceeds the bound."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64, with slack
        found = certificate_for(Q, MU)
        lattice = composed(found, Frame(0.004, 8.0, 4.0), Course(STEPS, STEPS, 1.0), -35.0)
        bounds = np.array([float(lattice.delta_upper(Fraction(epsilon))) for epsilon in EPSILONS])
        generator = np.random.default_rng(15)
        attained = [_attained(None)] + [_attained(generator) for _ in range(POLICIES)]
        reached = max(float(np.max(values / bounds)) for values in attained)
        detail = f"{STEPS} steps, {POLICIES} random policies and the best one reach {reached:.4f} of the bound"
        return EvidenceResult.check(reached <= 1 + SLACK, detail, tightness=min(reached, 1.0))

    return Evidence("adaptive adversaries by dynamic programming", Kind.ATTACK, run)


def attained_between() -> Evidence:
    """The certified lower end is above the forward pair's, which a fixed pair attains, and below the leader's bound."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rounding is bounded
        found = _lower_ends()
        step = SubsampledGaussian(Fraction(Q), 1 / Fraction(MU), STEPS)
        lattice = composed(certificate_for(Q, MU), Frame(0.004, 8.0, 4.0), Course(STEPS, STEPS, 1.0), -35.0)
        upper = [lattice.delta_upper(Fraction(epsilon)) for epsilon in EPSILONS]
        forward = [compose([step]).delta_lower(e) for e in map(Fraction, EPSILONS)]
        below = all(low <= high for low, high in zip(found, upper, strict=True))
        gains = [float(low / pair) - 1 for low, pair in zip(found, forward, strict=True)]
        detail = f"{STEPS} steps: up to {max(gains):.2%} above the forward pair's delta; never above the leader's bound"
        return EvidenceResult.check(below and max(gains) > 0, detail)

    return Evidence("between the forward pair and the leader", Kind.ENCLOSURE, run)


def attained_by_choosing() -> Evidence:
    """Who chooses the forward or the reverse pair before each step attains it: their dynamic programme."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64, with slack
        found = np.array([float(value) for value in _lower_ends()])
        share = found / _attained(None, FORWARD_AND_REVERSE)
        detail = f"{STEPS} steps: {share.min():.4f} to {share.max():.4f} of what the adversary has"
        holds = bool(share.max() <= 1 + SLACK and share.min() >= CLOSE)
        return EvidenceResult.check(holds, detail, tightness=min(float(share.min()), 1.0))

    return Evidence("forward or reverse before each step", Kind.ATTACK, run)


def _lower_ends() -> list[Fraction]:
    step = SubsampledGaussian(Fraction(Q), 1 / Fraction(MU), STEPS)
    return [adaptive_delta_lower(step, Fraction(epsilon)) for epsilon in EPSILONS]


def _attained(generator: np.random.Generator | None, centres: tuple[float, ...] = CENTRES) -> Floats:
    """Return delta of the best adversary who moves c between a' and a, or of a random policy."""
    x = np.linspace(-2.5, 2.5, 801)
    outputs = np.linspace(-8 / MU, 1 + 8 / MU, 601)
    value = np.maximum(1 - np.exp(x), 0.0)
    for _ in range(STEPS):
        options = np.array([_after(value, x, outputs, centre) for centre in centres])
        if generator is None:
            value = options.max(axis=0)
        else:  # one choice for each stretch of losses
            choice = np.repeat(generator.integers(0, len(options), size=9), 89)
            value = options[choice, np.arange(x.size)]
    return np.asarray(np.interp(np.array(EPSILONS), x, value), dtype=np.float64)


def _after(value: Floats, x: Floats, outputs: Floats, centre: float) -> Floats:
    """Return E_P f(y Q/P) for the triple (c, 1, 0) on a line."""
    density = MU * (outputs[1] - outputs[0]) / np.sqrt(2 * np.pi)

    def normal(mean: float) -> Floats:
        return np.asarray(density * np.exp(-((outputs - mean) ** 2) * MU**2 / 2), dtype=np.float64)

    p = (1 - Q) * normal(centre) + Q * normal(1.0)
    loss = np.log(p) - np.log((1 - Q) * normal(centre) + Q * normal(0.0))
    moved = np.clip(x[:, None] - loss[None, :], x[0], x[-1])
    return np.asarray(np.interp(moved, x, value) @ p, dtype=np.float64)
