"""mhaghifam/Second-Order-Private-Optimization-NeurIPS2023, declared: ``python second_order.py RULE``.

The update rules of opt_algs.py (gd, newton, double-noise) run unchanged. A function in the place of `np.random.normal`
hands each draw to `run`; what was there before the noise is computed once more by their own methods.
"""

import sys
from unittest import mock

import numpy as np
from foreign import source

from dpadmm.declaring import serve_declared

sys.path.insert(0, str(source("mhaghifam/Second-Order-Private-Optimization-NeurIPS2023")))
import opt_algs
from my_logistic_regression import MyLogisticRegression

RULE = sys.argv[1]


def declare(parameters, records, _columns):
    """What opt_algs.py computes its scales from: `total` is rho of zCDP, divided over iterations and values."""
    each = parameters["total"] / parameters["iterations"]
    parts = {"gd": {"step": 1.0}, "newton": {"hessian": 0.5, "gradient": 0.5}}
    parts["double-noise"] = {"gradient": 0.5, "trace": 0.25, "direction": 0.25}
    moves = {"gradient": 1.0, "step": 4.0, "hessian": 0.25, "trace": 0.25}
    values = []
    for name, share in parts[RULE].items():
        # the direction is divided by the deviation that the code computes from the released gradient and trace
        scale = moves[name] / records * np.sqrt(0.5 / (share * each)) if name in moves else 1.0
        sensitivity = scale * np.sqrt(2.0 * share * each)
        values.append({"name": name, "noise": "gaussian", "norm": "l2", "scale": scale, "sensitivity": sensitivity})
    model = {"name": "model", "noise": "none", "from": list(parts[RULE])}
    bound = {"kind": "normalise", "radius": 1.0}
    return {
        "neighbours": "zero-out",
        "bound": bound,
        "iterations": parameters["iterations"],
        "values": [*values, model],
    }


def run(data, parameters, run):
    """Iterations from the zero vector."""
    problem = MyLogisticRegression(data.features, data.labels)
    hyper = {"total": parameters["total"], "num_iteration": parameters["iterations"], "grad_frac": 0.5}
    hyper |= {"trace_frac": 0.5, "trace_coeff": 1.0}
    rule = {"gd": opt_algs.gd_priv, "newton": opt_algs.private_newton}.get(RULE)
    rule = rule or opt_algs.DoubleNoiseMech(problem).update_rule
    model = np.zeros(problem.dim)
    for _ in range(parameters["iterations"]):
        draws = Draws(run, problem, model)
        with mock.patch("numpy.random.normal", draws.normal):
            model = rule(model, problem, hyper)
        model = draws.direction(model) if RULE == "double-noise" else model
        run.processed("model", model)


class Draws:
    """The draws of one iteration, in the order in which the rule makes them."""

    def __init__(self, run, problem, model):
        self._run, self._problem, self._model, self._scale = run, problem, model, 0.0
        self._made = []

    def normal(self, scale, size=()):
        """The noise that makes the value what was released."""
        self._made.append(scale)
        if RULE == "newton" and len(self._made) == 1:
            upper = np.triu_indices(size[0])
            weights = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
            before, noise = self._problem.hess(self._model), self._run.gaussian(size, scale)
            noise = (noise + noise.T) / 2
            released = self._run.release("hessian", weights * before[upper], weights * noise[upper])
            full = np.zeros(size)
            full[upper] = released / weights
            return full + np.triu(full, 1).T - before
        if RULE == "double-noise" and len(self._made) == 3:
            return np.zeros(size)
        name = {"gd": "step"}.get(RULE, "trace" if size == () else "gradient")
        before = {
            "step": lambda: self._model - 4.0 * self._problem.grad_wor(self._model),
            "trace": lambda: np.trace(self._problem.hess_wor(self._model)).reshape(1),
            "gradient": lambda: self._problem.grad(self._model),
        }[name]()
        noise = self._run.release(name, before, self._run.gaussian(before.shape, scale)) - before
        return noise[0] if size == () else noise

    def direction(self, before):
        """Their direction, which comes without its noise, and the noise of the scale that they computed."""
        scale = self._made[2]
        return self._run.release("direction", before / scale, self._run.gaussian(before.shape, 1.0)) * scale


if __name__ == "__main__":
    serve_declared(f"second-order-{RULE}", declare, run)
