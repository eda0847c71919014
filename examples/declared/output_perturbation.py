"""Output perturbation: ridge logistic regression trained to the end, then noise of density e^(-|b|/scale) on the model.

Records are scaled down to norm 1, so the minimiser of a ridge-strongly convex mean moves by at most 2/(n ridge).
"""

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, records, _columns):
    """What leaves, and what protects it."""
    sensitivity = 2.0 / (records * parameters["ridge"])
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "normalise", "radius": 1.0},
        "values": [
            {
                "name": "model",
                "noise": "gamma-norm",
                "scale": parameters["scale"],
                "sensitivity": sensitivity,
                "norm": "l2",
            }
        ],
    }


def train(data, ridge):
    """The minimiser of the mean logistic loss + ridge/2 |w|^2."""
    lengths = np.linalg.norm(data.features, axis=1, keepdims=True)
    signed = data.features / np.maximum(lengths, 1.0) * data.labels[:, None]
    w = np.zeros(signed.shape[1])
    for _ in range(100):
        u = -1.0 / (1.0 + np.exp(np.clip(signed @ w, -700.0, 700.0)))
        gradient = signed.T @ u / len(signed) + ridge * w
        if np.linalg.norm(gradient) < 1e-13:
            break
        hessian = (signed.T * (-u * (1 + u))) @ signed / len(signed) + ridge * np.eye(len(w))
        step = np.linalg.solve(hessian, gradient)
        w = w - step * min(1.0, 4.0 / np.linalg.norm(step))
    return w


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    model = train(data, parameters["ridge"])
    run.release("model", model, run.gamma_norm(len(model), parameters["scale"]))


if __name__ == "__main__":
    serve_declared("output-perturbation", declare, run)
