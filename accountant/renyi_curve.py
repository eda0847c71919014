r"""The Renyi curve itself: certified epsilon(alpha) of a mechanism by every theorem that is proved for it.

What RDP users quote before any conversion to (epsilon, delta).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.limits import check_time
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism, ledger_of
from accountant.mechanisms.quantities import order
from accountant.numbers import Bound, Exact, arb_from_fraction, arb_precision, has_digits, precisions, shown
from accountant.pricing import RENYI, methods_for
from accountant.renyi.moments import Subsampling, ledger_log_moment


@dataclass(frozen=True, slots=True)
class RenyiPoint:
    """epsilon(alpha) by each theorem; `refused` says why one has no value there."""

    alpha: Fraction
    epsilon: Mapping[str, Bound]
    refused: Mapping[str, str]


def renyi_curve(priced: Ledger | Mechanism, orders: Sequence[Exact], *, digits: int = 15) -> tuple[RenyiPoint, ...]:
    """Enclose the Renyi divergence at each order (> 1), to `digits` significant digits, by every proved theorem.

    Where printed sensitivities are violated the corrected steps are the ones whose curve this is.
    """
    ledger = ledger_of(priced)
    true = Ledger(ledger.corrected) if ledger.corrected else ledger
    if digits < 1:
        raise InvalidQuantityError(f"digits must be >= 1, got digits={digits}")
    theorems = renyi_theorems(true)
    return tuple(_point(true, theorems, order(alpha), digits) for alpha in orders)


def renyi_theorems(ledger: Ledger) -> dict[str, Subsampling]:
    """Return the theorems proved for the ledger by name: `rdp` where nothing is sampled."""
    proved = methods_for(ledger)
    named = {name.rpartition("-")[0]: RENYI[name][0] for name in proved if name in RENYI}
    return named if ledger.is_subsampled else {"rdp": Subsampling.LEMMA2}


def _point(ledger: Ledger, theorems: Mapping[str, Subsampling], alpha: Fraction, digits: int) -> RenyiPoint:
    values: dict[str, Bound] = {}
    refused: dict[str, str] = {}
    for name, theorem in theorems.items():
        try:
            values[name] = renyi_epsilon(ledger, theorem, alpha, digits)
        except CannotCertifyError as reason:
            refused[name] = str(reason)
    return RenyiPoint(alpha, MappingProxyType(values), MappingProxyType(refused))


def renyi_epsilon(ledger: Ledger, theorem: Subsampling, alpha: Fraction, digits: int) -> Bound:
    """Enclose epsilon(alpha) = K(alpha)/(alpha-1) by one theorem."""
    for bits in precisions(digits):
        check_time()
        with arb_precision(bits):
            value = ledger_log_moment(ledger, theorem, alpha, bits) / arb_from_fraction(alpha - 1)
            if has_digits(value, digits):
                return Bound.from_arb(value)
    raise CannotCertifyError(f"no {digits} certified digits of the divergence at alpha={shown(alpha)}")
