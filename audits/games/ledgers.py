"""What a game's run of a baseline is claimed to release: from the parameters on the wire to a ledger, exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from accountant import Ledger, exact_binary64
from accountant.mechanisms.baselines import admm_objp, dp_admm, dp_sgd, dp_svrg
from audits.errors import AuditError
from verification.served.translate import anchor_sigmas, sigmas
from verification.wire.parameters import Algorithm, Parameters


def _sigma(algorithm: Algorithm, parameters: Parameters, records: int) -> Fraction:
    noise = sigmas(algorithm, parameters, records)
    if bool((noise != noise[0]).any()):
        raise AuditError("games use one sigma for all iterations")
    return exact_binary64("sigma", float(noise[0]))


def _dpsgd(records: int, parameters: Parameters) -> Ledger:
    return dp_sgd(
        records=records,
        batch=parameters.batch or records,
        iterations=parameters.iterations,
        sigma=_sigma(Algorithm.DPSGD, parameters, records),
        clip=exact_binary64("clip", parameters.bound),
    )


def _dpadmm(records: int, parameters: Parameters) -> Ledger:
    return dp_admm(
        records=records,
        eta=[exact_binary64("eta", step) for step in parameters.eta],
        rho=exact_binary64("rho", parameters.rho),
        clip=exact_binary64("clip", parameters.bound),
        sigma=_sigma(Algorithm.DPADMM, parameters, records),
        iterations=parameters.iterations,
        parties=parameters.parties or 1,
    )


def _dpsvrg(records: int, parameters: Parameters) -> Ledger:
    inner = parameters.inner or 1
    return dp_svrg(
        records=records,
        batch=parameters.batch or records,
        epochs=parameters.iterations // inner,
        inner=inner,
        sigma_full=exact_binary64("anchor_sigma", float(anchor_sigmas(parameters, records)[0])),
        sigma_inner=_sigma(Algorithm.DPSVRG, parameters, records),
        clip=exact_binary64("clip", parameters.bound),
    )


def _objp(records: int, parameters: Parameters) -> Ledger:  # noqa: ARG001 - a pure epsilon is what it is told
    if parameters.epsilon is None:
        raise AssertionError("validated parameters of objp hold an epsilon")
    return admm_objp(epsilon=exact_binary64("epsilon", parameters.epsilon), iterations=parameters.iterations)


_LEDGERS: dict[Algorithm, Callable[[int, Parameters], Ledger]] = {
    Algorithm.DPSGD: _dpsgd,
    Algorithm.DPADMM: _dpadmm,
    Algorithm.DPSVRG: _dpsvrg,
    Algorithm.OBJP: _objp,
}


def baseline_ledger(algorithm: Algorithm, records: int, parameters: Parameters) -> Ledger:
    """Return what a run of a private baseline with these parameters is claimed to release."""
    return _LEDGERS[algorithm](records, parameters)
