"""Sensitivity bounds under attack: reached to 99.9 % with normalised logistic data, never exceeded beyond rounding."""

from __future__ import annotations

from dataclasses import replace

from accountant import MpADMM, Release, SsADMM
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, SubsampledGaussianStep
from accountant.numbers import exact_binary64, float_up
from verification.hard_pairs.neighbours import far_enough, hinge, saturated
from verification.hard_pairs.observed_sensitivity import StepSetting, observe, reference_replay
from verification.hard_pairs.search import search
from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind
from verification.wire.parameters import Algorithm, LossName, RegularizerName

NEARLY_ALL = 0.999
HUGE = 1e7
"""A lambda so large that z stays 0: the end of the joint bound where all of the move goes into y."""


def attained(name: str, *settings: StepSetting) -> Evidence:
    """The saturated pair reaches the bound in every setting."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - the reference runs in binary64
        replay, ratios, broken = reference_replay(), [], []
        for setting in settings:
            pair = saturated(5, far=far_enough([setting.eta], setting.rho))
            observed = observe(replay, pair, setting)
            ratios.append(observed[name].ratio)
            broken += [key for key, value in observed.items() if value.exceeded]
        detail = f"{len(ratios)} settings with normalised logistic data reach {min(ratios):.6f} or more"
        holds = min(ratios) >= NEARLY_ALL and not broken
        return EvidenceResult.check(holds, detail if not broken else f"exceeded: {broken}", tightness=min(ratios))

    return Evidence(f"constructed neighbours for {name}", Kind.ATTACK, run)


def searched(name: str, setting: StepSetting, *, starts: int = 2, rounds: int = 30, seed: int = 0) -> Evidence:
    """A search from random points reaches the bound by itself and never passes it."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - the reference runs in binary64
        template = saturated(3, far=1.0) if setting.loss is LossName.LOGISTIC else hinge(3)
        found = search(reference_replay(), name, template, setting, starts=starts, rounds=rounds, seed=seed)
        detail = f"search: {found.tried} pairs, the worst reaches {found.best.ratio:.6f}"
        holds = found.best.ratio >= NEARLY_ALL and not found.exceeded
        return EvidenceResult.check(
            holds, detail if not found.exceeded else f"exceeded: {found.exceeded}", tightness=found.best.ratio
        )

    return Evidence(f"search for the worst {name}", Kind.ATTACK, run)


def folded_exceeds_convex_bound() -> Evidence:
    """SCAD and MCP move z further than x: the bounds for convex regularizers do not hold for them (E11)."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - the reference runs in binary64
        replay, stretched = reference_replay(), {}
        for regularizer in (RegularizerName.SCAD, RegularizerName.MCP):
            setting = replace(MPADMM, regularizer=regularizer, rho=2.0, lam=1.0, eta=0.05)
            pair = hinge(5)
            # Where the map is steepest: between its threshold and the point from which it is the identity.
            pair = replace(pair, x=pair.x + 2.5, z=pair.z + 2.5)
            observed = observe(replay, pair, replace(setting, loss=LossName.HUBER))
            stretched[regularizer.value] = observed["z"].moved / observed["x"].moved
        detail = ", ".join(f"{name}: |dz| = {ratio:.4f} |dx|" for name, ratio in stretched.items())
        return EvidenceResult.check(min(stretched.values()) > 1.01, detail, witness=detail)

    return Evidence("SCAD and MCP stretch", Kind.WITNESS, run)


def priced() -> Evidence:
    """What the accountant prices is what the worst pair attains: (move/sigma)^2 of one release, to 1 part in 10^5."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - the reference runs in binary64
        worst, replay = 1.0, reference_replay()
        for setting in BOTH_ENDS:
            pair = saturated(5, far=far_enough([setting.eta], setting.rho))
            moved = observe(replay, pair, setting)
            for release, name in ((Release.ALL, "joint"), (Release.PRIMAL, "x")):
                eta, rho = (exact_binary64(key, getattr(setting, key)) for key in ("eta", "rho"))
                ledger = MpADMM(records=5, eta=eta, rho=rho, clip=1, sigma=1, iterations=1, release=release).ledger()
                worst = min(worst, _agreement(moved[name].moved ** 2, ledger))
            gradient = observe(replay, pair, replace(setting, algorithm=Algorithm.SSADMM))["gradient"].moved
            whole = SsADMM(records=5, batch=5, iterations=1, sigma=1, clip=1).ledger()
            worst = min(worst, _agreement(gradient**2, whole))
        return EvidenceResult.check(worst >= 1 - 1e-5, "6 releases", tightness=worst)

    return Evidence("price against the worst pair", Kind.ATTACK, run)


def _agreement(squared_move: float, ledger: Ledger) -> float:
    """The smaller over the larger of the observed and the priced (Delta/sigma)^2."""
    step = ledger.steps[0]
    if not isinstance(step, GaussianStep | SubsampledGaussianStep):
        raise TypeError(f"a release of ADMM is priced as a Gaussian step, got {step}")
    ratio = squared_move / float_up(step.ratio_squared)
    return min(ratio, 1 / ratio)


SSADMM = StepSetting(Algorithm.SSADMM, LossName.LOGISTIC)
MPADMM = StepSetting(Algorithm.MPADMM, LossName.LOGISTIC)
BOTH_ENDS = (replace(MPADMM, rho=0.5), replace(MPADMM, rho=2.0, lam=HUGE))
"""rho <= 1: all of the move goes into z; rho >= 1: into y."""
