"""The answer of the exact adversary, confirmed on another lattice and with every box of its certificate tested anew."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from accountant.errors import CertificateError
from accountant.mechanisms.steps import Step
from accountant.pld.adversary.method import compositions_for_delta, symmetrised_epsilon
from accountant.pld.adversary.ordering import check
from accountant.pld.ledger_steps import profile_steps
from accountant.pld.plan import Resolution

_OTHER: Final = Resolution(tolerance=7e-4, most_points=1 << 20)
SLACK: Final = Fraction(1, 100)


def require_adversary_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> str:
    """Raise unless a composition with other spacing and course of rounding confirms the epsilon to one per cent."""
    prepared = profile_steps(steps, "down")
    if len(prepared) != 1:
        raise CertificateError("adversary: the ledger has more than one kind of step")
    if symmetrised_epsilon(prepared[0], delta, _OTHER) <= upper * (1 + SLACK):
        return f"the symmetrised profile on another lattice confirms it to {float(SLACK):.0%}"
    for found in compositions_for_delta(prepared[0], delta, _OTHER):
        check(found.certificate)
        if found.lattice.delta_upper(upper * (1 + SLACK)) <= delta:
            break
    else:
        raise CertificateError(
            f"adversary: another lattice does not confirm epsilon = {float(upper):.6g} to one per cent"
        )
    return f"another lattice and a fresh test of all boxes confirm it to {float(SLACK):.0%}"
