"""Write, or check, the golden accounting vectors: ``python -m tools.accounting_vectors [--check]``.

Every value is computed in balls until its radius is below the last digit, and its ends are rounded outwards.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from flint import arb
from mpmath import mpf

from accountant import vectors
from accountant.errors import CannotCertifyError
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import Bound, arb_from_fraction, arb_precision, exact, fraction_of
from accountant.profiles.gaussian import delta_ball, gaussian_delta, gaussian_epsilon
from accountant.renyi.conversion import Conversion, convert
from accountant.renyi.integrals import poisson_moment, tight_moment
from accountant.renyi.moments import Subsampling, lemma2_moment, step_log_moment, wbk27_moment
from tools.accounting_vector_sets import FLAGS, Enclosure, ParameterSet, Vector, Vectors, parameter_sets

DIGITS = 50
FOLDER = Path(vectors.__file__).resolve().parent
DATA, SCHEMA = FOLDER / "accounting.json", FOLDER / "accounting.schema.json"
NEIGHBOURS = {
    "without-replacement": "replace-one; a fresh batch of fixed size each iteration; noise_multiplier = sigma m/(2C)",
    "gaussian": "whatever relation the sensitivity was taken for; mu_squared = sum of (Delta_k/sigma_k)^2",
    "poisson": "add-or-remove; each record joins with probability sampling_rate; noise_multiplier = sigma/C",
    "single-step": "as without-replacement, one step",
}
QUANTITIES = {
    "rdp_lemma2": "Renyi epsilon at alpha of one step by [CL20] Lemma 2 as printed; integer alpha; not capped",
    "rdp_wbk27": "the same by Wang, Balle and Kasiviswanathan 2019, Theorem 27; not capped",
    "rdp_tight": "the same by the dominating profile, any alpha > 1",
    "rdp_unamplified": "alpha/(2 noise_multiplier^2): the cap",
    "rdp_poisson": "Renyi epsilon at alpha of one Poisson-subsampled step",
    "epsilon_lemma2_prop1": "max(0, .) of [CL20] Proposition 1 on count steps; Lemma 2 capped, chords between integers",
    "epsilon_lemma2_cks": "the same by Canonne, Kamath and Steinke 2020, Proposition 12",
    "epsilon_wbk27_cks": "Theorem 27 capped, Proposition 12",
    "epsilon_tight_cks": "tight Renyi divergence, Proposition 12",
    "delta": "delta(epsilon), exact",
    "epsilon": "the smallest epsilon >= 0 with delta(epsilon) <= delta, exact",
}


def vector(number: int, parameters: ParameterSet) -> Vector:
    """Return the vector of one parameter set."""
    compute = {
        "without-replacement": _without_replacement,
        "gaussian": _gaussian,
        "poisson": _poisson,
        "single-step": _single_step,
    }[parameters.kind]
    numbers = {name: exact(name, text) for name, text in parameters.inputs.items()}
    values = {name: _enclosure(bound) for name, bound in compute(numbers).items()}
    name = f"{parameters.kind}-{number:03d}"
    return Vector(id=name, kind=parameters.kind, flags=parameters.flags, inputs=parameters.inputs, values=values)


def all_vectors() -> Vectors:
    """Return the whole file."""
    return Vectors(
        format="dpadmm-accounting-vectors",
        version=1,
        digits=DIGITS,
        generator="python -m tools.accounting_vectors",
        neighbours=NEIGHBOURS,
        quantities=QUANTITIES,
        flags=FLAGS,
        vectors=tuple(vector(number, parameters) for number, parameters in enumerate(parameter_sets(), start=1)),
    )


def _enclosure(bound: Bound) -> Enclosure:
    lower, upper = bound.decimal_strings(DIGITS)
    return Enclosure(lower=lower, upper=upper)


def certified(value: Callable[[int], arb]) -> Bound:
    """Return the enclosure once its radius is below the last digit; raise where that is never so."""
    wanted = int(3.33 * DIGITS) + 8
    bits = wanted + 64
    for _ in range(7):
        with arb_precision(bits):
            ball = value(bits)
            if ball.is_zero() or (ball.is_finite() and ball.rel_accuracy_bits() >= wanted):
                return Bound.from_arb(ball)
        bits *= 2
    raise CannotCertifyError("a vector needs more precision than is sensible: choose another parameter set")


def _without_replacement(n: dict[str, Fraction]) -> dict[str, Bound]:
    q, nu, alpha, delta = n["sampling_rate"], n["noise_multiplier"], n["alpha"], n["delta"]
    step = SubsampledGaussianStep(q, nu, int(n["count"]))
    x, below = 1 / nu**2, alpha - 1

    def rdp(moment: Callable[[int], arb]) -> Bound:
        return certified(lambda bits: moment(bits).log1p() / arb_from_fraction(below))

    def epsilon(theorem: Subsampling, conversion: Conversion) -> Bound:
        return certified(
            lambda bits: convert(step.count * step_log_moment(step, theorem, alpha, bits), alpha, delta, conversion)
        )

    values = {
        "rdp_unamplified": Bound.from_fractions(alpha * x / 2, alpha * x / 2),
        "rdp_tight": rdp(lambda bits: tight_moment(q, nu, alpha, bits)),
        "epsilon_tight_cks": epsilon(Subsampling.TIGHT, Conversion.CKS),
        "epsilon_lemma2_prop1": epsilon(Subsampling.LEMMA2, Conversion.PROPOSITION1),
        "epsilon_lemma2_cks": epsilon(Subsampling.LEMMA2, Conversion.CKS),
        "epsilon_wbk27_cks": epsilon(Subsampling.WBK27, Conversion.CKS),
    }
    if alpha.denominator == 1:
        values["rdp_lemma2"] = rdp(lambda bits: lemma2_moment(q, x, int(alpha), bits))
        values["rdp_wbk27"] = rdp(lambda bits: wbk27_moment(q, x, int(alpha), bits))
    return values


def _gaussian(n: dict[str, Fraction]) -> dict[str, Bound]:
    return {
        "delta": gaussian_delta(n["mu_squared"], n["epsilon"], digits=DIGITS + 2),
        "epsilon": gaussian_epsilon(n["mu_squared"], n["delta"], digits=DIGITS + 2),
    }


def _poisson(n: dict[str, Fraction]) -> dict[str, Bound]:
    def rdp(bits: int) -> arb:
        moment = poisson_moment(n["sampling_rate"], n["noise_multiplier"], n["alpha"], bits)
        return moment.log1p() / arb_from_fraction(n["alpha"] - 1)

    return {"rdp_poisson": certified(rdp)}


def _single_step(n: dict[str, Fraction]) -> dict[str, Bound]:
    q, square = n["sampling_rate"], 1 / n["noise_multiplier"] ** 2

    def delta(_: int) -> arb:
        rate, mu = arb_from_fraction(q), arb_from_fraction(square).sqrt()
        return rate * delta_ball(mu, (arb_from_fraction(n["epsilon"]).expm1() / rate).log1p())

    inner = gaussian_epsilon(square, n["delta"] / q, digits=DIGITS + 10) if n["delta"] < q else None

    def outer(end: mpf) -> Bound:
        return certified(lambda _: (arb_from_fraction(q) * arb_from_fraction(fraction_of(end)).expm1()).log1p())

    zero = Bound.from_fractions(Fraction(0), Fraction(0))
    epsilon = zero if inner is None else Bound(outer(inner.lower).lower, outer(inner.upper).upper)
    return {"delta": certified(delta), "epsilon": epsilon}


def rendered() -> dict[Path, str]:
    """Return what the two files should hold."""
    return {
        DATA: json.dumps(all_vectors().model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n",
        SCHEMA: json.dumps(Vectors.model_json_schema(), indent=1) + "\n",
    }


def main(arguments: list[str]) -> int:
    """Write the files, or with --check say whether they are what they should be."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.accounting_vectors [--check]", file=sys.stderr)
        return 2
    stale = [path for path, text in rendered().items() if not path.exists() or path.read_text("utf-8") != text]
    if arguments == ["--check"]:
        for path in stale:
            print(f"stale: {path.name}; run python -m tools.accounting_vectors", file=sys.stderr)
        return 1 if stale else 0
    for path, text in rendered().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
