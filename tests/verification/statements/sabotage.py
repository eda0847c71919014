"""Statement -> a change of the shipped code that turns it: without one, its evidence could not fail."""

from __future__ import annotations

from tests.mutants.patches import Mutant

_N, _I, _T = "reference/discrete_gaussian.py", "reference/randomness.py", "dpadmm/training.py"
_U, _S, _M, _P = "reference/updates.py", "reference/ssadmm.py", "reference/mpadmm.py", "reference/problem.py"
_L, _C, _D, _V = "reference/losses.py", "reference/clipping.py", "reference/dataset.py", "reference/vectorised.py"
_R, _F, _B = "reference/regularizers/separable.py", "reference/regularizers/folded.py", "reference/baselines"
_O, _G = "accountant/profiles/one_step.py", "accountant/profiles/gaussian.py"
_W, _A = "accountant/renyi/moments.py", "accountant/mechanisms"
_K, _Q, _H = "accountant/renyi/conversion.py", "dpadmm/privacy.py", "reference/rounding.py"


def _turned(statement: str, name: str, path: str, old: str, new: str) -> tuple[str, Mutant]:
    return statement, Mutant(name, path, old, new, (statement,))


TEN: dict[str, Mutant] = {
    mutant.id: mutant
    for _, mutant in (
        _turned("ALGORITHM-1", "noise times 0", _S, "on_grid(g, grid) + gamma", "on_grid(g, grid) + 0 * gamma"),
        _turned("ALGORITHM-1", "batch mean over n", _P, "/ len(records)", "/ len(self.signed)"),
        _turned(
            "CLIP",
            "clip after the mean",
            _P,
            "            slopes = clipped_slopes("
            "slopes, self.norms if batch is None else self.norms.take(batch), self.clip)\n"
            "        g = system.matmul(slopes, records) / len(records)\n",
            "            g = system.matmul(slopes, records) / len(records)\n"
            "            g = g * min(1.0, self.clip / max(float(np.linalg.norm(g)), 1e-300))\n"
            "        else:\n"
            "            g = system.matmul(slopes, records) / len(records)\n",
        ),
        _turned(
            "PROX-FIRM",
            "groups doubled",
            _R,
            "kept = system.where(outside, 1 - t / system",
            "kept = system.where(outside, 1 - 2 * t / system",
        ),
        _turned(
            "LOSS-LOGISTIC",
            "logistic slope wrong in the middle",
            _L,
            "return system.where(system.greater(margin, 0.0), small, 1.0) / (-1.0 - small)",
            "slope = system.where(system.greater(margin, 0.0), small, 1.0) / (-1.0 - small)\n"
            "        return system.where(system.greater(margin, 4.1), "
            "system.where(system.greater(margin, 30.0), slope, 0.5 * slope), slope)",
        ),
        _turned("GRID", "grid ignored", _S, "on_grid(g, grid) + gamma", "g + gamma"),
        _turned(
            "ALGORITHM-2",
            "z from the clean x",
            _M,
            "    z = update_z(x, old.y, rho=rho, regularizer=problem.regularizer)\n    return State(x, z, ",
            "    z = update_z(x - gamma.x, old.y, rho=rho, regularizer=problem.regularizer)\n    return State(x, z, ",
        ),
        _turned("DPSVRG", "anchor noise dropped", f"{_B}/dpsvrg.py", " + epoch.anchor_noise", ""),
        _turned(
            "PROX-FIRM",
            "prox threshold",
            _R,
            "return soft_threshold(w, number_system(w).scalar(self.lam) / rho)",
            "return soft_threshold(w, 2 * number_system(w).scalar(self.lam) / rho)",
        ),
        _turned(
            "ENGINE", "vectorised engine without noise", _V, "return gradient + noise", "return gradient + 0 * noise"
        ),
    )
}
"""The sabotages of the reference that the link or a statement must name."""

_X = ("(-g - y", "(g - y")
_DIVIDED = ("/ (rho + 1 / eta)", "/ (1 + eta * rho)")
TURNED_BY: dict[str, Mutant] = dict(
    (
        *((mutant.suspects[0], mutant) for mutant in TEN.values()),
        _turned("LOSS-ROUNDING", "slope in single precision", _L, "/ (-1.0 - small)", "/ (-1.0000001 - small)"),
        _turned("LOSS-HUBER", "huber clamp", _L, "margin, 0.0), 2 * h)", "margin, 0.0), 3 * h)"),
        _turned("LOSS-HUBER-CASES", "huber knee", _L, "system.maximum(1 + h - margin", "system.maximum(1 - h - margin"),
        _turned("CLIP", "clip to 2C", _C, "allowed = bound /", "allowed = 2 * bound /"),
        _turned("INTERCEPT-ORDER", "intercept of two", _D, "np.ones(self.records)", "2 * np.ones(self.records)"),
        _turned("SOFT-THRESHOLD", "other side", _R, "- system.maximum(-w - t, 0.0)", "+ system.maximum(-w - t, 0.0)"),
        _turned("UPDATE-X", "gradient's sign", _U, *_X),
        _turned(
            "SCHEDULES",
            "epoch off by one",
            "reference/schedules.py",
            "(1 + k * self.batch",
            "(1 + (k + 1) * self.batch",
        ),
        _turned(
            "SAMPLER",
            "laplace scale",
            "reference/discrete_gaussian.py",
            "variance / scale) ** 2 / (2 * variance)",
            "variance / scale) ** 2 / variance",
        ),
        _turned(
            "DRAWS",
            "seeded noise doubled",
            _I,
            "sigma * normals(block, dimension) for block in _blocks(",
            "2 * sigma * normals(block, dimension) for block in _blocks(",
        ),
        _turned("TRAINING", "sampling forgotten", _T, "}[self.sampling]", "}[Sampling.FIXED_ORDER]"),
        _turned("SENS-GRADIENT", "sum for mean", _P, "/ len(records)", "/ 1"),
        _turned("SENS-X", "printed factor in x", _U, *_DIVIDED),
        _turned(
            "SENS-Z", "prox of 2x", _U, "regularizer.prox(x + y / rho, rho)", "regularizer.prox(2 * x + y / rho, rho)"
        ),
        _turned("SENS-Y", "dual's sign", _U, "y + rho * (x - z)", "y - rho * (x - z)"),
        _turned("SENS-X-PRINTED", "printed factor made true, x", _U, *_DIVIDED),
        _turned("SENS-Z-PRINTED", "printed factor made true, z", _U, *_DIVIDED),
        _turned("SENS-Y-PRINTED", "printed factor made true, y", _U, *_DIVIDED),
        _turned("SENS-PRINTED-SMALL-STEP", "x without a step", _U, "/ (rho + 1 / eta)", "/ rho"),
        _turned("JOINT", "dual of the old x", _U, "y + rho * (x - z)", "y + 2 * rho * (x - z)"),
        _turned("DPSGD", "proximal step doubled", f"{_B}/dpsgd.py", "x - eta * g, 1 / eta", "x - 2 * eta * g, 1 / eta"),
        _turned("DPADMM", "noise shared by the parties", f"{_B}/dpadmm.py", "grid) + gamma[i]", "grid) + gamma[0]"),
        _turned("DPADMM-ALL-RECORDS", "x hardly moves", _U, "(-g - y", "(-g / 9 - y"),
        _turned(
            "DPADMM-ONE-PARTY",
            "plain with another prox",
            f"{_B}/dpadmm.py",
            "prox(x[i], party.rho + 1 / eta_k)",
            "prox(x[i], party.rho)",
        ),
        _turned("DPADMM-THRESHOLD", "centre without rho", f"{_B}/dpadmm.py", "prox(mean, rho)", "prox(mean, 3 * rho)"),
        _turned(
            "DPSVRG-MARGIN",
            "slopes beyond one",
            _L,
            "return -self._distance(margin)",
            "return -2 * self._distance(margin)",
        ),
        _turned("OBJP", "half the noise", f"{_B}/objp.py", "2 * loss.steepest * length /", "loss.steepest * length /"),
        _turned(
            "OBJP-INEXACT",
            "less noise",
            f"{_B}/objp.py",
            "2 * loss.steepest * length /",
            "9e3 * loss.steepest * length /",
        ),
        _turned(
            "SADMM-SAMPLING",
            "another batch",
            _P,
            "self.signed.take(batch, axis=0)",
            "self.signed.take((batch + 1) % len(self.signed), axis=0)",
        ),
        _turned("LEMMA-1", "order less one", _W, "alpha * (alpha - 1) *", "(alpha - 1) ** 2 *"),
        _turned("LEMMA-2", "second term", _W, "(4 * x.expm1()).min(2 * x.exp())", "(x.expm1()).min(2 * x.exp()) / 2"),
        _turned("LEMMA-3", "count forgotten", "accountant/renyi/moments.py", "step.count * ", "1 * "),
        _turned(
            "PROPOSITION-1",
            "sign of log delta",
            "accountant/renyi/conversion.py",
            "value = (log_moment - d.log()) / (a - 1)",
            "value = (log_moment + d.log()) / (a - 1)",
        ),
        _turned("THEOREM-1", "C for 2C", f"{_A}/batches.py", "2 * C / self.batch", "C / self.batch"),
        _turned("THEOREM-2", "dual ignored", _U, "prox(x + y / rho, rho)", "prox(x, rho)"),
        _turned("THEOREM-3", "printed factor made true", _U, *_DIVIDED),
        _turned(
            "P",
            "z from the clean x",
            _M,
            "    z = update_z(x, old.y, rho=rho, regularizer=problem.regularizer)\n    return State(x, z, ",
            "    z = update_z(x - gamma.x, old.y, rho=rho, regularizer=problem.regularizer)\n    return State(x, z, ",
        ),
        _turned(
            "G",
            "Gaussian profile doubled",
            _G,
            "            ball = delta_ball(arb_from_fraction(mu_squared).sqrt(), arb",
            "            ball = 2 * delta_ball(arb_from_fraction(mu_squared).sqrt(), arb",
        ),
        _turned("D", "rate squared", _O, "ball = q * delta_ball(mu, inner)", "ball = q * q * delta_ball(mu, inner)"),
        _turned(
            "SUBSAMPLING",
            "rate squared",
            _O,
            "ball = q * delta_ball(mu, inner)",
            "ball = q * q * delta_ball(mu, inner)",
        ),
        _turned(
            "TESTS",
            "Gaussian profile halved",
            _G,
            "            ball = delta_ball(arb_from_fraction(mu_squared).sqrt(), arb",
            "            ball = 0.5 * delta_ball(arb_from_fraction(mu_squared).sqrt(), arb",
        ),
        _turned(
            "HOCKEY-STICK",
            "Gaussian profile squared",
            _G,
            "(mu_squared).sqrt(), arb_from_fraction(epsilon))\n            if",
            "(mu_squared).sqrt(), arb_from_fraction(epsilon)) ** 2\n            if",
        ),
        _turned("WBK27", "factor of the other branch", _W, "factor = 2 * (central", "factor = 0 * (central"),
        _turned(
            "CAP",
            "no cap",
            "accountant/renyi/moments.py",
            "return moment.log1p().min(cap)",
            "return moment.log1p() * 9",
        ),
        _turned(
            "R",
            "half the integral",
            "accountant/renyi/integrals.py",
            "(_tight_integrand(nu, order, q, crossing), pieces, bits) / (2 *",
            "(_tight_integrand(nu, order, q, crossing), pieces, bits) / (4 *",
        ),
        _turned("E1", "printed factor made true", _U, *_DIVIDED),
        _turned("E2", "x hardly moves", _U, "(-g - y", "(-g / 99 - y"),
        _turned("E3", "threshold at zero", _R, "system.maximum(w - t, 0.0)", "system.maximum(w / 2 - t, 0.0)"),
        _turned("E4", "second term", _W, "(4 * x.expm1()).min(2 * x.exp())", "(x.expm1()).min(2 * x.exp()) / 2"),
        _turned(
            "E8",
            "regularizer free",
            _R,
            "return system.scalar(self.lam) * system.sum(system.absolute(x))",
            "return 0 * system.sum(system.absolute(x))",
        ),
        _turned("E9", "copy ignored", _U, "rho * z", "0 * z"),
        _turned(
            "E10",
            "average of the wrong iterates",
            "reference/outputs.py",
            "(x_sum + initial.x - last.x) / count",
            "x_sum / count",
        ),
        _turned("E11", "MCP's slope", _F, "/ (1 - tau / gamma)", "/ (1 + tau / gamma)"),
        _turned(
            "E12",
            "bounds not the data's",
            _D,
            "return data.features.min(axis=0), data.features.max(axis=0)",
            "return data.features.min(axis=0) * 0, data.features.max(axis=0) * 0 + 1000",
        ),
        _turned("E13", "root off by one", "reference/schedules.py", "math.sqrt(k + 1)", "math.sqrt(k + 2)"),
        _turned("E14", "dual ignored", _U, "(-g - y", "(-g - 0 * y"),
        _turned(
            "E15",
            "loss without its linear part",
            _L,
            "return system.log1p(small) + system.maximum(-margin, 0.0)",
            "return system.log1p(small) + 0 * margin",
        ),
        _turned("E16", "noise times 0", _S, "on_grid(g, grid) + gamma", "on_grid(g, grid) + 0 * gamma"),
        _turned("E18", "a third of the mean", _P, "/ len(records)", "/ (3 * len(records))"),
        _turned(
            "EPOCHS",
            "one release in all",
            f"{_A}/batches.py",
            "visits = [(self._most_together(batches), whole), ",
            "visits = [(self._most_together(batches), int(whole > 0)), ",
        ),
        _turned(
            "GROUPS",
            "delta of b groups added",
            "accountant/groups.py",
            "else (groups * e).expm1() / e.expm1()",
            "else arb(groups)",
        ),
        _turned(
            "TOLD-DRAWS",
            "draws halved",
            "accountant/profiles/without_lattice.py",
            "square += draws /",
            "square += draws // 9 /",
        ),
        _turned(
            "LOSS-LEVELS",
            "cost forgotten",
            "accountant/profiles/without_lattice.py",
            "Fraction(0)) - choice.cost)",
            "Fraction(0)) * 9)",
        ),
        _turned(
            "LEADER",
            "any window held",
            "accountant/pld/adversary/ordering.py",
            '        if not held:\n            raise CertificateError(f"a window',
            '        if False:\n            raise CertificateError(f"a window',
        ),
        _turned(
            "VILLE",
            "delta not charged",
            "audits/eprocess/bets.py",
            "float(self.stake @ delta) + rounding",
            "rounding",
        ),
        _turned(
            "ADAPTIVE",
            "lower end raised",
            "accountant/pld/adversary/adaptive_lower.py",
            "return attained_values(plan, decisions).delta_lower(epsilon)",
            "return attained_values(plan, decisions).delta_lower(epsilon) * 2",
        ),
        _turned(
            "FORWARD-EXCEEDED",
            "a step without choice",
            "accountant/pld/adversary/adaptive_lower.py",
            "return attained_values(plan, decisions).epsilon_lower(delta)",
            "return attained_values(plan, decisions).epsilon_lower(delta) * 99 / 100",
        ),
        _turned(
            "TRIPLES",
            "upper end halved",
            "accountant/pld/convolution.py",
            "return self.judged_upper(epsilon)[0]",
            "return self.judged_upper(epsilon)[0] / 2",
        ),
        _turned(
            "COMPOSITION",
            "upper end halved",
            "accountant/pld/composition.py",
            "return min(bound, self._total_variation())",
            "return min(bound, self._total_variation()) / 2",
        ),
        _turned(
            "CONNECT-THE-DOTS",
            "rounded towards less",
            "accountant/pld/convolution.py",
            "return self.judged_upper(epsilon)[0]",
            "return self.judged_upper(epsilon + 40 * Fraction(self.spacing))[0]",
        ),
        _turned(
            "L",
            "epsilon at another delta",
            "accountant/pld/ledger_steps.py",
            "composed = compose(below, target_delta=delta).epsilon(delta)",
            "composed = compose(below, target_delta=delta).epsilon(min(2 * delta, Fraction(1, 2)))",
        ),
    )
)

ALSO: tuple[Mutant, ...] = tuple(
    mutant
    for _, mutant in (
        _turned(
            "SAMPLER",
            "exponent times 1.05",
            _N,
            "** 2 / (2 * variance), below",
            "** 2 / (2 * variance) * 21 / 20, below",
        ),
        _turned(
            "SAMPLER", "exponent times 1.25", _N, "** 2 / (2 * variance), below", "** 2 / (2 * variance) * 5 / 4, below"
        ),
        _turned(
            "SAMPLER",
            "cut off at three sigma",
            _N,
            "            return y\n",
            "            return y if y * y < 9 * variance else 0\n",
        ),
        _turned(
            "SAMPLER", "a coin too often", _N, "below(probability.denominator) < ", "below(probability.denominator) <= "
        ),
        _turned("DRAWS", "exact noise times 0", _N, "return self.grid * multiples", "return 0 * self.grid * multiples"),
        _turned(
            "DRAWS", "a quarter of the variance", _N, "Fraction(self.grid)) ** 2\n", "Fraction(self.grid)) ** 2 / 4\n"
        ),
        _turned("DRAWS", "exact noise repeated", _N, "for _ in range(dimension)]", "for _ in range(1)] * dimension"),
        _turned(
            "DRAWS",
            "noise of a release times 0",
            _I,
            "return _rows(sigma * normals(block, dimension) for block in blocks)",
            "return _rows(0 * sigma * normals(block, dimension) for block in blocks)",
        ),
        _turned(
            "DRAWS",
            "one vector three times",
            _I,
            "ModelNoise(*np.split(gamma, 3)) for",
            "ModelNoise(*np.split(gamma, 3)[:1] * 3) for",
        ),
        _turned(
            "DRAWS", "biased words", _I, "subsets(self._unbiased(block, records), records)", "subsets(block, records)"
        ),
        _turned(
            "DRAWS",
            "a known generator",
            "reference/words.py",
            "np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
            "np.random.default_rng(1).integers(0, 2**63, count, dtype=np.uint64)",
        ),
        _turned(
            "DRAWS",
            "a run repeats the one before",
            _I,
            "NOISE, self.run * padded(iterations * width)",
            "NOISE, self.run // 2 * padded(iterations * width)",
        ),
        _turned(
            "EPOCHS",
            "a record in two batches",
            _I,
            "order[: each * size].reshape",
            "order[np.arange(each * size) // 2].reshape",
        ),
        _turned("CLIP", "norms halved", _D, "norms = FLOAT64.norm(features)\n", "norms = FLOAT64.norm(features) / 2\n"),
        _turned("TRAINING", "grid forgotten", _T, "noise=noise, grid=self.grid)", "noise=noise)"),
        _turned(
            "TRAINING", "grid of mpADMM forgotten", _T, "release=self.release, grid=self.grid)", "release=self.release)"
        ),
        _turned(
            "TRAINING",
            "half the noise",
            _T,
            "model_noise(randomness, problem.dimension, sigma,",
            "model_noise(randomness, problem.dimension, sigma / 2,",
        ),
        _turned(
            "TRAINING",
            "longer steps",
            _T,
            "etas, start = steps(self.schedule, self.iterations)",
            "etas, start = (2 * eta for eta in steps(self.schedule, self.iterations))",
        ),
        _turned(
            "TRAINING",
            "epochs for fresh batches",
            _T,
            "WITHOUT_REPLACEMENT: randomness.batches",
            "WITHOUT_REPLACEMENT: randomness.shuffled",
        ),
        _turned(
            "TRAINING",
            "noise below the target's",
            "dpadmm/cli/train_run.py",
            "sigma = guarantee.sigma if",
            "sigma = guarantee.sigma / 2 if",
        ),
        _turned(
            "TRAINING",
            "priced without the grid",
            "dpadmm/privacy.py",
            "return bound + Fraction(self.training.grid) *",
            "return bound + 0 *",
        ),
        _turned(
            "TRAINING",
            "priced at the steps after",
            _Q,
            "steps(self.training.schedule, self.training.iterations)]",
            "steps(self.training.schedule, self.training.iterations + 1)][1:]",
        ),
        _turned(
            "TRAINING",
            "SCAD priced as convex",
            _Q,
            "self.regularizer.convex:\n            return None\n        return F",
            "self.regularizer:\n            return None\n        return F",
        ),
        _turned("TRAINING", "grid of z and y forgotten", _Q, "copies=(3 if every else 1) / joint", "copies=1 / joint"),
        _turned("TRAINING", "grid at the longest step", _Q, "1 / min(etas)", "1 / max(etas)"),
        _turned(
            "PROPOSITION-1",
            "delta doubled",
            _K,
            "(alpha), arb_from_fraction(delta)",
            "(alpha), arb_from_fraction(2 * delta)",
        ),
        _turned("PROPOSITION-1", "logarithm of the order twice", _K, "- d.log() - a.log()", "- d.log() - 2 * a.log()"),
        _turned(
            "THEOREM-1",
            "T - 1 batches",
            f"{_A}/batches.py",
            "Step(sampling_rate(m, n), nu, count, noise)",
            "Step(sampling_rate(m, n), nu, max(1, count - 1), noise)",
        ),
        _turned(
            "LEMMA-3",
            "T - 1 epochs",
            f"{_A}/full_gradients.py",
            "times * sum(1 for _ in repeats), noise",
            "max(1, times * sum(1 for _ in repeats) - 1), noise",
        ),
        _turned(
            "DRAWS",
            "exact noise drawn once",
            _N,
            "(self._vector(dimension, variance) for _ in range(iterations))",
            "iter([self._vector(dimension, variance)] * iterations)",
        ),
        _turned("GRID", "coarser grid", _H, "np.rint(value / grid)", "2 * np.rint(value / (2 * grid))"),
        _turned("GRID", "towards zero", _H, "np.rint(value / grid)", "np.trunc(value / grid)"),
        _turned(
            "PROX-FIRM",
            "groups without the root",
            _R,
            "norm = system.norm(members)",
            "norm = system.norm(members) * system.norm(members)",
        ),
        _turned(
            "ENGINE",
            "the first step size in every epoch",
            _V,
            "for eta, gamma in zip(step_sizes, noise",
            "for eta, gamma in zip([step_sizes[0]] * len(step_sizes), noise",
        ),
        # Right wherever problems are small, and in every number system but binary64:
        _turned(
            "ALGORITHM-1",
            "noise in four coordinates alone",
            _S,
            "on_grid(g, grid) + gamma",
            "on_grid(g, grid) + gamma * ([1] * 4 + [0] * len(gamma))[: len(gamma)]",
        ),
        _turned(
            "ALGORITHM-2",
            "noise of the model in four coordinates alone",
            _M,
            "on_grid(x, grid) + gamma.x, on_grid",
            "on_grid(x, grid) + gamma.x * ([1] * 4 + [0] * len(x))[: len(x)], on_grid",
        ),
        _turned(
            "ALGORITHM-1",
            "noise in ten steps alone",
            _S,
            "for eta, batch, gamma in zip(step_sizes, batches, noise, strict=False):",
            "for eta, batch, gamma in zip(step_sizes, batches, "
            "(v if k < 10 else 0 * v for k, v in enumerate(noise)), strict=False):",
        ),
        _turned("ALGORITHM-1", "mean over nine at most", _P, "/ len(records)\n", "/ min(len(records), 9)\n"),
        _turned(
            "ALGORITHM-1",
            "half the noise in binary64",
            _S,
            "on_grid(g, grid) + gamma",
            "on_grid(g, grid) + (gamma if grid or gamma.dtype == object else gamma / 2)",
        ),
        _turned(
            "CLIP",
            "clip by the largest coordinate",
            _P,
            "slopes, self.norms if batch is None else self.norms.take(batch), self.clip)",
            "slopes, system.absolute(records).max(axis=1), self.clip)",
        ),
        _turned(
            "PROX-FIRM",
            "half the threshold in binary64",
            _R,
            "return soft_threshold(w, number_system(w).scalar(self.lam) / rho)",
            "return soft_threshold(w, number_system(w).scalar(self.lam) / (2 * rho if w.dtype == float else rho))",
        ),
        _turned(
            "GRID",
            "far values off the grid",
            "reference/rounding.py",
            "np.rint(value / grid)",
            "np.where(np.absolute(value) > 100 * (1 + grid), value / grid, np.rint(value / grid))",
        ),
        _turned(
            "SAMPLER",
            "half of wide noise",
            _N,
            "            return y\n",
            "            return y // (1 + (variance > 2000))\n",
        ),
        _turned(
            "SAMPLER",
            "wide noise cut off",
            _N,
            "            return y\n",
            "            return y if abs(y) <= 200 else 0\n",
        ),
        _turned(
            "DRAWS",
            "the first hundred records alone",
            _I,
            "subsets(self._unbiased(block, records), records)",
            "subsets(self._unbiased(block, min(records, 100)), min(records, 100))",
        ),
        _turned(
            "LEMMA-2",
            "high orders cheaper",
            _W,
            "(4 * x.expm1()).min(2 * x.exp())",
            "(4 * x.expm1()).min(2 * x.exp()) / (1 if alpha < 40 else 9**alpha)",
        ),
        _turned(
            "CAP",
            "discrete noise at half the price",
            _W,
            "        return at_below\n    at_above",
            "        return at_below / (2 if step.noise is Noise.DISCRETE else 1)\n    at_above",
        ),
    )
)
"""More sabotages of what a release draws and of the command that trains, and some that small tests cannot see."""
