"""Write, or check, the golden vectors of the exact adversary: ``python -m tools.adversary_vectors [--check]``.

Each vector has the ends between which the epsilon of adaptive steps on fixed-size batches lies: the lower one is
attained by a pair of neighbours, so an accountant that answers less is wrong; the upper one is certified, so one that
answers more is loose. Other machines may find an upper end that differs in its last digits: `--check` allows 1e-4.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Final

from accountant import vectors
from accountant.errors import CertificateError
from accountant.numbers import decimal_string
from accountant.pld.adversary.method import Run, adversary_epsilon
from accountant.pld.composition import compose
from accountant.profiles.one_step import SubsampledGaussian

DATA: Final = Path(vectors.__file__).with_name("adversary.json")
DIGITS: Final = 10
AGREEMENT: Final = Fraction(1, 10**4)
SETS: Final = (
    ("221/48842", "4", 2210, "1e-8"),
    ("221/48842", "2", 2210, "1e-8"),
    ("1/200", "1", 200, "1e-8"),
    ("1/10", "8", 1000, "1e-8"),
    ("1/10", "3", 120, "1e-6"),
    ("1/10", "3", 120, "1e-12"),
)


def vector(rate: str, multiplier: str, count: int, delta: str) -> dict[str, str | int]:
    """Return one vector: the inputs and both ends, rounded outwards."""
    step, target = SubsampledGaussian(Fraction(rate), Fraction(multiplier), count), Fraction(delta)
    lower = compose([step], target_delta=target).epsilon_lower(target)
    upper, _ = adversary_epsilon(Run((step,)), target)
    return {
        "sampling_rate": rate,
        "noise_multiplier": multiplier,
        "count": count,
        "delta": delta,
        "lower": decimal_string(lower, DIGITS, "down"),
        "upper": decimal_string(upper, DIGITS, "up"),
    }


def require_agreement(stored: dict[str, str | int], found: dict[str, str | int]) -> None:
    """Raise unless the inputs are the same and both ends agree to `AGREEMENT`."""
    for name, value in found.items():
        if name not in {"lower", "upper"} and stored[name] != value:
            raise CertificateError(f"the vector's {name} is {stored[name]}, not {value}")
    for name in ("lower", "upper"):
        one, other = Fraction(stored[name]), Fraction(found[name])
        if abs(one - other) > AGREEMENT * other:
            raise CertificateError(f"the vector's {name} is {stored[name]}, and {found[name]} was found")


def main() -> None:
    """Write the file, or compare it with what is found now."""
    found_now = [vector(*inputs) for inputs in SETS]
    if "--check" not in sys.argv:
        document = {"format": "dpadmm-adversary-vectors", "version": 1, "digits": DIGITS, "vectors": found_now}
        DATA.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return
    for stored, found in zip(json.loads(DATA.read_text("utf-8"))["vectors"], found_now, strict=True):
        require_agreement(stored, found)


if __name__ == "__main__":
    main()
