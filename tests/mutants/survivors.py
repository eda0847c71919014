"""The general mutants that survive, and why nobody can or need notice them."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST = "the loop raises at its first entry: how many more it is given makes no difference"
_STAND_IN = "stands in where the quotient is not used, only so that nothing is divided by 0"
_SYMMETRIC = "what is added is a ball around 0: its sign is nothing"
_FINITE = "the sum is only asked whether it is finite, which it is or is not whatever the signs"
_DIGITS = "more or fewer guard bits: what they do not certify is tried again with twice as many"
_BOUNDARY = "decides a tie that rational inputs do not reach, or where both sides give the same"
_SEARCH = "where the search looks next; what it finds is judged by the objective"
_PIECES = "where the integral is cut into pieces: any cut gives an enclosure, some a narrower one"
_BELOW = "a bound of a rest that lies below the last bit shown"
_EARLY = "a shortcut that is taken a little earlier or later; both ways are certified"


@dataclass(frozen=True, slots=True)
class Explained:
    """A change in a function, and why it is not a bug."""

    module: str
    function: str
    was: str
    became: str
    why: str


EXPLAINED: tuple[Explained, ...] = (
    Explained("reference.problem", "require_finite", "self.x + self.z", "self.x - self.z", _FINITE),
    Explained("reference.problem", "require_finite", "self.x + self.z + self.y", "self.x + self.z - self.y", _FINITE),
    Explained("reference.dataset", "of", "1", "2", _FIRST),
    Explained("reference.dataset", "row_norms", "1", "2", _FIRST),
    Explained("reference.dataset", "scaled", "1", "2", _FIRST),
    Explained("reference.dataset", "normalised", "1.0", "2.0", _STAND_IN),
    Explained("reference.dataset", "scaled", "1.0", "2.0", _STAND_IN),
    Explained("reference.regularizers.separable", "prox", "1.0", "2.0", _STAND_IN),
    Explained("reference.clipping", "clipped_slopes", "1.0", "2.0", _STAND_IN),
    Explained(
        "reference.regularizers.folded",
        "prox",
        "a * lam * tau + 0 * w",
        "a * lam * tau - 0 * w",
        "0 * w only gives the constant the shape of w",
    ),
    Explained(
        "reference.problem", "in_system", "self.clip is None", "self.clip is not None", "norms serve clipping alone"
    ),
    Explained(
        "reference.problem",
        "in_system",
        "self.norms if self.clip is None else system.norm(signed)",
        "system.norm(signed) if self.clip is None else self.norms",
        "without clipping norms are not used; with it float64 norms are within rounding of the others",
    ),
    Explained(
        "reference.arithmetic.in_balls",
        "rounded",
        "exact * arb(1, units * UNIT_ROUNDOFF) + UNDERFLOW",
        "exact * arb(1, units * UNIT_ROUNDOFF) - UNDERFLOW",
        _SYMMETRIC,
    ),
    Explained(
        "reference.arithmetic.in_balls",
        "rounded_sum",
        "exact + arb(0, 1) * (gamma * magnitude) + n * UNDERFLOW",
        "exact + arb(0, 1) * (gamma * magnitude) - n * UNDERFLOW",
        _SYMMETRIC,
    ),
    Explained("reference.baselines.optimum", "_line_search", "2", "3", _SEARCH),
    Explained(
        "reference.baselines.objp",
        "perturbation",
        "2 * loss.steepest",
        "2 / loss.steepest",
        "the slopes of both losses have size at most 1 exactly",
    ),
    Explained(
        "reference.words",
        "subsets",
        "1",
        "2",
        "decides which of two ways draws the subsets; they give the same ones (tested)",
    ),
    Explained(
        "reference.arithmetic.in_symbols", "all_finite", "True", "False", "nobody asks a term whether it is finite"
    ),
    Explained(
        "reference.arithmetic.in_balls",
        "rounded_sum",
        "exact + arb(0, 1) * (gamma * magnitude)",
        "exact - arb(0, 1) * (gamma * magnitude)",
        _SYMMETRIC,
    ),
    Explained(
        "reference.arithmetic.in_balls",
        "log1p",
        "8",
        "9",
        "an allowance for the library's last bits, wide enough either way; a smaller one is noticed",
    ),
    Explained(
        "reference.arithmetic.float64",
        "where",
        "mask.size < LONG_MASK",
        "mask.size <= LONG_MASK",
        "decides which of two ways chooses; they give the same bits (tested)",
    ),
    Explained(
        "reference.baselines.objp",
        "solve_x",
        "rho + ridge",
        "rho - ridge",
        "how fast the solver goes: the residual that was asked for is reached or the run is refused",
    ),
    Explained(
        "reference.problem",
        "require_dimension",
        "1",
        "2",
        "a vector has one axis: its last two are its last",
    ),
    Explained("accountant.conversion", "epsilon_at", "3.33", "4.33", _DIGITS),
    Explained(
        "accountant.conversion",
        "epsilon_at",
        "value.is_finite() and value.rel_accuracy_bits() >= wanted",
        "value.is_finite() or value.rel_accuracy_bits() >= wanted",
        _DIGITS,
    ),
    Explained(
        "accountant.conversion",
        "epsilon_at",
        "value.rel_accuracy_bits() >= wanted",
        "value.rel_accuracy_bits() > wanted",
        _DIGITS,
    ),
    Explained("accountant.conversion", "best_epsilon", "(alpha - 1) * 3", "(alpha - 1) / 3", _SEARCH),
    Explained("accountant.conversion", "best_epsilon", "1", "2", _SEARCH),
    Explained("accountant.conversion", "best_epsilon", "4", "5", _SEARCH),
    Explained("accountant.gaussian", "_bracket", "upper > arb(2) ** 100000", "upper >= arb(2) ** 100000", _BOUNDARY),
    Explained("accountant.gaussian", "_bracket", "mu * mu / 2", "mu * mu * 2", _SEARCH),
    Explained("accountant.gaussian", "_bracket", "low > 0", "low >= 0", _BOUNDARY),
    Explained("accountant.gaussian", "_bracket", "4", "5", _DIGITS),
    Explained("accountant.gaussian", "gaussian_delta", "bits <= MAX_BITS", "bits < MAX_BITS", _DIGITS),
    Explained(
        "accountant.gaussian",
        "gaussian_delta",
        "ball.rel_accuracy_bits() >= 3.33 * digits + 2",
        "ball.rel_accuracy_bits() > 3.33 * digits + 2",
        _DIGITS,
    ),
    Explained(
        "accountant.profile", "single_step_epsilon", "delta >= sampling_rate", "delta > sampling_rate", _BOUNDARY
    ),
    Explained(
        "accountant.profile", "single_step_epsilon", "4 * _CLOSED_FORM_DIGITS", "4 / _CLOSED_FORM_DIGITS", _DIGITS
    ),
    Explained("accountant.profile", "single_step_epsilon", "4", "5", _DIGITS),
    Explained(
        "accountant.subsampling",
        "_binomial_rest",
        "alpha * (alpha - 1) // 2 * y * y",
        "alpha * (alpha - 1) // 2 * y / y",
        "a smaller lower bound, which only saves work where it is large",
    ),
    Explained("accountant.subsampling", "_doubled_terms", "term < negligible", "term <= negligible", _BOUNDARY),
    Explained("accountant.subsampling", "_doubled_terms", "2", "3", _EARLY),
    Explained("accountant.subsampling", "wbk27_at_least", "2", "3", _EARLY),
    Explained("accountant.subsampling", "wbk27_at_least", "4", "5", _EARLY),
    Explained(
        "accountant.algorithms",
        "mpadmm",
        "claimed >= truth",
        "claimed > truth",
        "where the claimed price is the true one, either branch gives it",
    ),
    Explained("accountant.baselines", "objective_perturbation", "256", "257", _DIGITS),
    Explained("accountant.conversion", "best_epsilon", "1 + (alpha - 1) * 3 / 4", "1 - (alpha - 1) * 3 / 4", _SEARCH),
    Explained("accountant.gaussian", "gaussian_delta", "2", "3", _DIGITS),
    Explained("accountant.gaussian", "gaussian_delta_upper", "ball > 0", "ball >= 0", _BOUNDARY),
    Explained("accountant.gaussian", "gaussian_epsilon", "at_zero < target", "at_zero <= target", _BOUNDARY),
    Explained("accountant.gaussian", "_bracket", "mu * mu", "mu / mu", _SEARCH),
    Explained("accountant.gaussian", "_bracket", "2", "3", _SEARCH),
    Explained("accountant.profile", "single_step_delta", "bits <= _MAX_BITS", "bits < _MAX_BITS", _DIGITS),
    Explained(
        "accountant.profile",
        "single_step_delta",
        "ball.rel_accuracy_bits() >= 3.33 * _CLOSED_FORM_DIGITS",
        "ball.rel_accuracy_bits() > 3.33 * _CLOSED_FORM_DIGITS",
        _DIGITS,
    ),
    Explained(
        "accountant.subsampling",
        "wbk27_at_least",
        "_second_term(rate, ratio_squared, alpha) + 4 * _binomial_rest(arb_from_fraction(rate) * root, alpha)",
        "_second_term(rate, ratio_squared, alpha) - 4 * _binomial_rest(arb_from_fraction(rate) * root, alpha)",
        "a smaller lower bound, which only saves work where it is large",
    ),
    Explained("accountant.tight_rdp", "tight_moment", "2 * nu * nu", "2 * nu / nu", _BELOW),
    Explained("accountant.tight_rdp", "tight_moment", "2", "3", _PIECES),
    Explained("accountant.tight_rdp", "tight_moment", "end + c", "end - c", _BELOW),
    Explained("accountant.tight_rdp", "tight_moment", "1 - q", "1 + q", _PIECES),
    Explained("accountant.tight_rdp", "tight_moment", "0.5", "1.5", _BELOW),
    Explained("accountant.conversion", "best_epsilon", "alpha - 1", "alpha + 1", _SEARCH),
    Explained("accountant.conversion", "best_epsilon", "(alpha - 1) * 3 / 4", "(alpha - 1) * 3 * 4", _SEARCH),
    Explained("accountant.conversion", "epsilon_at", "8", "9", _DIGITS),
    Explained("accountant.gaussian", "gaussian_delta", "3.33 * digits + 2", "3.33 * digits - 2", _DIGITS),
    Explained("accountant.gaussian", "gaussian_delta_upper", "256", "257", _DIGITS),
    Explained(
        "accountant.gaussian",
        "gaussian_delta_upper",
        "ball.is_finite() and ball > 0 and (ball < tail)",
        "ball.is_finite() or ball > 0 or ball < tail",
        "both are upper ends; which is sharper matters only where the precision is short",
    ),
    Explained("accountant.gaussian", "gaussian_delta_upper", "1", "2", "no tail of the normal law reaches 1"),
    Explained(
        "accountant.gaussian",
        "_bracket",
        "arb(2) ** 100000",
        "arb(2) * 100000",
        "an absurd epsilon is refused a little earlier",
    ),
    Explained("accountant.gaussian", "_bracket", "10", "11", _DIGITS),
    Explained(
        "accountant.subsampling",
        "wbk27_moment",
        "_second_term(rate, ratio_squared, alpha) + tail",
        "_second_term(rate, ratio_squared, alpha) - tail",
        _BELOW,
    ),
    Explained("accountant.subsampling", "wbk27_moment", "1", "2", "one more moment is computed than is used"),
    Explained(
        "accountant.subsampling",
        "lemma2_at_least",
        "_second_term(rate, ratio_squared, alpha) + 2 * _binomial_rest(arb_from_fraction(rate), alpha)",
        "_second_term(rate, ratio_squared, alpha) - 2 * _binomial_rest(arb_from_fraction(rate), alpha)",
        "a smaller lower bound, which only saves work where it is large",
    ),
    Explained(
        "accountant.subsampling",
        "_binomial_rest",
        "alpha - 1",
        "alpha + 1",
        "a smaller lower bound, which only saves work where it is large",
    ),
    Explained("accountant.gaussian", "gaussian_epsilon", "2", "3", _DIGITS),
    Explained("accountant.gaussian", "gaussian_epsilon", "at_zero > target", "at_zero >= target", _BOUNDARY),
    Explained(
        "accountant.gaussian",
        "_is_above",
        "delta_ball(mu, arb_from_fraction(epsilon)) > target",
        "delta_ball(mu, arb_from_fraction(epsilon)) >= target",
        _BOUNDARY,
    ),
    Explained("accountant.profile", "single_step_epsilon", "64", "65", _DIGITS),
    Explained(
        "accountant.profile",
        "single_step_epsilon",
        "4 * _CLOSED_FORM_DIGITS + 64",
        "4 * _CLOSED_FORM_DIGITS - 64",
        _DIGITS,
    ),
    Explained("accountant.profile", "single_step_delta", "128", "129", _DIGITS),
    Explained("accountant.conversion", "epsilon_at", "2", "3", _DIGITS),
    Explained("accountant.tight_rdp", "tight_moment", "order / nu", "order * nu", _PIECES),
    Explained("accountant.tight_rdp", "tight_moment", "8", "9", _PIECES),
    Explained("accountant.tight_rdp", "tight_moment", "growth + 2 * nu.log1p()", "growth - 2 * nu.log1p()", _PIECES),
    Explained(
        "accountant.tight_rdp",
        "tight_moment",
        "order * (order - 1) * q * q",
        "order * (order - 1) * q / q",
        _BELOW,
    ),
    Explained("accountant.subsampling", "wbk27_at_least", "4 * root ** 3 < 2", "4 * root ** 3 <= 2", _BOUNDARY),
    Explained(
        "accountant.subsampling",
        "_doubled_terms",
        "alpha + 1",
        "alpha - 1",
        "the condition under which a proof works; just beyond it the bound still holds, with room to spare",
    ),
    Explained("accountant.subsampling", "_doubled_terms", "2 * ratio < 1", "2 * ratio <= 1", _BOUNDARY),
    Explained("accountant.subsampling", "_last_order_that_needs_moments", "2", "3", _EARLY),
    Explained(
        "accountant.subsampling",
        "_binomial_rest",
        "alpha * (alpha - 1) // 2 * y",
        "alpha * (alpha - 1) // 2 / y",
        "a smaller lower bound, which only saves work where it is large",
    ),
)
