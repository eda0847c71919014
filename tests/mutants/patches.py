"""Mutants: small wrong patches of the reference and of the accountant's formulas, each with who should kill it."""

from __future__ import annotations

from dataclasses import dataclass

VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One patch: in ``path`` the one place that reads ``old`` becomes ``new``; ``suspects`` are asked for it."""

    id: str
    path: str
    old: str
    new: str
    suspects: tuple[str, ...]


_U, _S, _M, _P = "reference/updates.py", "reference/ssadmm.py", "reference/mpadmm.py", "reference/problem.py"
_L, _C, _D = "reference/losses.py", "reference/clipping.py", "reference/dataset.py"
_R, _F = "reference/regularizers/separable.py", "reference/regularizers/folded.py"
_A = "accountant/mechanisms"

MUTANTS = (
    Mutant("x-gradient-sign", _U, "(-g - y", "(g - y", ("UPDATE-X", VECTORS)),
    Mutant("x-dual-sign", _U, "-g - y", "-g + y", ("UPDATE-X", VECTORS)),
    Mutant("x-missing-eta", _U, "x / eta)", "x)", ("UPDATE-X", VECTORS)),
    Mutant("x-eta-for-its-inverse", _U, "(rho + 1 / eta)", "(rho + eta)", ("UPDATE-X", "SENS-X", VECTORS)),
    Mutant("x-missing-rho", _U, "rho * z", "z", ("UPDATE-X", VECTORS)),
    Mutant("x-printed-factor", _U, "/ (rho + 1 / eta)", "/ (1 + eta * rho)", ("SENS-X", "UPDATE-X", "JOINT", VECTORS)),
    Mutant("z-without-dual", _U, "prox(x + y / rho, rho)", "prox(x, rho)", ("THEOREM-2", VECTORS)),
    Mutant("z-dual-times-rho", _U, "x + y / rho", "x + y * rho", ("THEOREM-2", VECTORS)),
    Mutant("z-dual-sign", _U, "x + y / rho", "x - y / rho", ("THEOREM-2", VECTORS)),
    Mutant("y-sign", _U, "y + rho * (x - z)", "y - rho * (x - z)", ("SENS-Y", "THEOREM-2", VECTORS)),
    Mutant("y-missing-rho", _U, "y + rho * (x - z)", "y + (x - z)", ("SENS-Y", VECTORS)),
    Mutant("ss-new-dual-in-prox", _S, "update_z(x, y, rho", "update_z(x, y + rho * (x - z), rho", (VECTORS,)),
    Mutant("ss-no-noise", _S, "on_grid(g, grid) + gamma", "on_grid(g, grid)", (VECTORS, "THEOREM-2")),
    Mutant("ss-noise-twice", _S, "on_grid(g, grid) + gamma", "on_grid(g, grid) + 2 * gamma", (VECTORS,)),
    Mutant("ss-batch-ignored", _S, "problem.gradient(x, batch)", "problem.gradient(x)", (VECTORS,)),
    Mutant("ss-gradient-at-z", _S, "problem.gradient(x, batch)", "problem.gradient(z, batch)", (VECTORS, "E8")),
    Mutant("ss-old-x-in-dual", _S, "y = update_y(y, x, z, rho=rho)", "y = update_y(y, z, z, rho=rho)", (VECTORS,)),
    Mutant(
        "mp-next-step-size",
        _M,
        "for eta, gamma in zip(step_sizes, noise, strict=False):",
        "for eta, gamma in zip((all_steps := list(step_sizes))[1:] + all_steps[-1:], noise, strict=False):",
        (VECTORS,),
    ),
    Mutant(
        "mp-old-x-in-dual", _M, "y = update_y(old.y, x, z", "y = update_y(old.y, old.x, z", ("JOINT", "SENS-Y", VECTORS)
    ),
    Mutant(
        "mp-noises-swapped",
        _M,
        "grid) + gamma.z, on_grid(y, grid) + gamma.y",
        "grid) + gamma.y, on_grid(y, grid) + gamma.z",
        (VECTORS,),
    ),
    Mutant("mp-dual-without-noise", _M, "on_grid(y, grid) + gamma.y", "on_grid(y, grid)", (VECTORS,)),
    Mutant(
        "mp-primal-from-clean-x",
        _M,
        "    z = update_z(x, old.y, rho=rho, regularizer=problem.regularizer)\n    return State(x, z, ",
        "    z = update_z(x - gamma.x, old.y, rho=rho, regularizer=problem.regularizer)\n    return State(x, z, ",
        ("P", VECTORS),
    ),
    Mutant("gradient-sum", _P, "/ len(records)", "/ 1", ("SENS-GRADIENT", "SENS-X", VECTORS)),
    Mutant("gradient-over-n", _P, "/ len(records)", "/ len(self.signed)", (VECTORS,)),
    Mutant(
        "gradient-not-clipped",
        _P,
        "        if self.clip is not None:\n            slopes",
        "        if False:\n            slopes",
        (VECTORS,),
    ),
    Mutant(
        "gradient-in-float32",
        _P,
        "slopes = self.loss.slope(system.matmul(records, x))",
        "records = records.astype(np.float32).astype(np.float64) if records.dtype == np.float64 else records\n"
        "        slopes = self.loss.slope(system.matmul(records, x))",
        (VECTORS,),
    ),
    Mutant(
        "logistic-branches-swapped",
        _L,
        "system.greater(margin, 0.0), small, 1.0)",
        "system.greater(margin, 0.0), 1.0, small)",
        ("LOSS-LOGISTIC", VECTORS),
    ),
    Mutant("logistic-slope-doubled", _L, "/ (-1.0 - small)", "/ (-0.5 - 0.5 * small)", ("LOSS-LOGISTIC", VECTORS)),
    Mutant(
        "huber-clamp", _L, "margin, 0.0), 2 * h)", "margin, 0.0), 3 * h)", ("LOSS-HUBER-CASES", "LOSS-HUBER", VECTORS)
    ),
    Mutant(
        "huber-knee",
        _L,
        "system.maximum(1 + h - margin",
        "system.maximum(1 - h - margin",
        ("LOSS-HUBER-CASES", VECTORS),
    ),
    Mutant("clip-to-2c", _C, "allowed = bound /", "allowed = 2 * bound /", ("CLIP", VECTORS)),
    Mutant("clip-loses-sign", _C, "allowed, -allowed)", "allowed, allowed)", ("CLIP", VECTORS)),
    Mutant(
        "clip-at-half",
        _C,
        "too_long = system.greater(size * norms, bound)",
        "too_long = system.greater(2 * size * norms, bound)",
        ("CLIP", VECTORS),
    ),
    Mutant(
        "l1-lambda-times-rho",
        _R,
        "return soft_threshold(w, number_system(w).scalar(self.lam) / rho)",
        "return soft_threshold(w, number_system(w).scalar(self.lam) * rho)",
        ("PROX-FIRM", VECTORS),
    ),
    Mutant(
        "l1-lambda-alone",
        _R,
        "return soft_threshold(w, number_system(w).scalar(self.lam) / rho)",
        "return soft_threshold(w, number_system(w).scalar(self.lam) + 0 * rho)",
        ("PROX-FIRM", VECTORS),
    ),
    Mutant(
        "hard-threshold",
        _R,
        "system.maximum(w - t, 0.0)",
        "system.where(system.greater(w, t), w, 0.0)",
        ("SOFT-THRESHOLD", VECTORS),
    ),
    Mutant(
        "soft-threshold-other-side",
        _R,
        "- system.maximum(-w - t, 0.0)",
        "+ system.maximum(-w - t, 0.0)",
        ("SOFT-THRESHOLD", VECTORS),
    ),
    Mutant(
        "elastic-net-without-ridge",
        _R,
        "/ (1 + lam * (1 - r) / rho)\n\n    def lip",
        "/ (1 + 0 * lam)\n\n    def lip",
        ("PROX-FIRM", VECTORS),
    ),
    Mutant(
        "group-threshold-on-entries",
        _R,
        "kept = system.where(outside, 1 - t / system",
        "kept = system.where(outside, 1 - 2 * t / system",
        (VECTORS,),
    ),
    Mutant("scad-bend", _F, "a * lam * tau + 0 * w", "lam * tau + 0 * w", (VECTORS, "E11")),
    Mutant("mcp-slope", _F, "/ (1 - tau / gamma)", "/ (1 + tau / gamma)", (VECTORS, "E11")),
    Mutant("mcp-accepted-where-it-jumps", _F, "not self.gamma > tau", "not self.gamma > -tau", (VECTORS, "E11")),
    Mutant("intercept-of-two", _D, "np.ones(self.records)", "2 * np.ones(self.records)", (VECTORS, "INTERCEPT-ORDER")),
    Mutant(
        "normalised-to-half",
        _D,
        "[:, None] * length",
        "[:, None] * length * 0.5",
        ("INTERCEPT-ORDER", "SENS-X", VECTORS),
    ),
    Mutant(
        "epoch-off-by-one", "reference/schedules.py", "(1 + k * self.batch", "(1 + (k + 1) * self.batch", ("SCHEDULES",)
    ),
    Mutant("root-off-by-one", "reference/schedules.py", "math.sqrt(k + 1)", "math.sqrt(k + 2)", ("E13",)),
    Mutant(
        "average-of-the-wrong-iterates",
        "reference/outputs.py",
        "(x_sum + initial.x - last.x) / count",
        "x_sum / count",
        ("E10", "E8", "E9", "THEOREM-2"),
    ),
    Mutant("grid-floor", "reference/rounding.py", "np.rint(", "np.floor(", ("GRID",)),
    Mutant(
        "accountant-c-for-2c",
        f"{_A}/full_gradients.py",
        "2 * C * self.group_size / averaged",
        "C * self.group_size / averaged",
        ("JOINT",),
    ),
    Mutant("accountant-m-over-c", f"{_A}/batches.py", "2 * C / self.batch", "C / self.batch", ("THEOREM-1",)),
    Mutant(
        "accountant-forgets-rho",
        f"{_A}/full_gradients.py",
        "return 1 + max(rho**2, L**2 + rho**2 * (L - 1) ** 2)\n",
        "return 1 + L**2\n",
        ("JOINT",),
    ),
    Mutant(
        "accountant-gaussian-rdp",
        "accountant/renyi/moments.py",
        "alpha * (alpha - 1) * ratio_squared / 2",
        "(alpha - 1) ** 2 * ratio_squared / 2",
        ("LEMMA-1",),
    ),
    Mutant(
        "accountant-lemma2-second-term",
        "accountant/renyi/moments.py",
        "(4 * x.expm1()).min(2 * x.exp())",
        "(x.expm1()).min(2 * x.exp()) / 2",
        ("LEMMA-2",),
    ),
    Mutant(
        "accountant-profile-without-q",
        "accountant/profiles/one_step.py",
        "ball = q * delta_ball(mu, inner)",
        "ball = q * q * delta_ball(mu, inner)",
        ("D",),
    ),
    Mutant(
        "accountant-conversion-sign",
        "accountant/renyi/conversion.py",
        "value = (log_moment - d.log()) / (a - 1)",
        "value = (log_moment + d.log()) / (a - 1)",
        ("PROPOSITION-1",),
    ),
)
