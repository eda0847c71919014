"""Objective perturbation in one shot: logistic regression with a random linear term, pure epsilon.

Records are scaled down to norm 1. w minimises the summed logistic loss + n ridge/2 |w|^2 + <b, w>, where b has the
density e^(-|b|/scale). The gradient of the sum moves by at most 2 when a record is replaced, and the determinant of its
Hessian, at least n ridge in every direction, by a factor of at most 1 + 1/(4 n ridge).
"""

import math

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, records, _columns):
    """What leaves, and what protects it."""
    jacobian = math.log1p(0.25 / (records * parameters["ridge"]))
    value = {"name": "model", "noise": "gamma-norm", "scale": parameters["scale"], "sensitivity": 2.0, "norm": "l2"}
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "normalise", "radius": 1.0},
        "values": [value | {"enters": "objective", "jacobian": jacobian}],
    }


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    lengths = np.linalg.norm(data.features, axis=1, keepdims=True)
    signed = data.features / np.maximum(lengths, 1.0) * data.labels[:, None]
    n, p = signed.shape
    ridge = n * parameters["ridge"]

    def slopes(w):
        return -1.0 / (1.0 + np.exp(np.clip(signed @ w, -700.0, 700.0)))

    def gradient(w):
        return signed.T @ slopes(w) + ridge * w

    def solve(b):
        w = -b / ridge
        for _ in range(100):
            descent = gradient(w) + b
            if np.linalg.norm(descent) < 1e-11 * (1.0 + np.linalg.norm(b)):
                break
            u = slopes(w)
            step = np.linalg.solve((signed.T * (-u * (1 + u))) @ signed + ridge * np.eye(p), descent)
            w = w - step * min(1.0, 4.0 / np.linalg.norm(step))
        return w

    run.minimise("model", run.gamma_norm(p, parameters["scale"]), solve, gradient)


if __name__ == "__main__":
    serve_declared("objective-perturbation", declare, run)
