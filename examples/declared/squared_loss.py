"""Stochastic ADMM for the squared loss, labels between -1 and 1, on fresh batches of a fixed size.

Every gradient is scaled down to norm `clip`, so the mean over m records moves by at most 2 clip/m. The noisy mean
gradient is what is released; x, z and y are computed from it.
"""

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, _records, _columns):
    """What leaves, and what protects it."""
    gradient = {"noise": "gaussian", "scale": parameters["sigma"], "norm": "l2"}
    gradient["sensitivity"] = 2.0 * parameters["clip"] / parameters["batch"]
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "clip", "radius": parameters["clip"], "labels": [-1.0, 1.0]},
        "sampling": {"kind": "without-replacement", "batch": parameters["batch"]},
        "iterations": parameters["iterations"],
        "values": [{"name": "gradient", **gradient}, {"name": "model", "noise": "none", "from": ["gradient"]}],
    }


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    n, p = data.features.shape
    eta, rho, clip = parameters["eta"], parameters["rho"], parameters["clip"]
    x, y, z = np.zeros(p), np.zeros(p), np.zeros(p)
    for _ in range(parameters["iterations"]):
        batch = run.batch(n, parameters["batch"])
        features, labels = data.features[batch], data.labels[batch]
        gradients = (features @ x - labels)[:, None] * features
        lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
        mean = np.mean(gradients * np.minimum(1.0, clip / np.maximum(lengths, 1e-300)), axis=0)
        gradient = run.release("gradient", mean, run.gaussian(p, parameters["sigma"]))
        x = (rho * z + x / eta - y - gradient) / (rho + 1.0 / eta)
        z = (rho * x + y) / (rho + parameters["ridge"])
        y = y + rho * (x - z)
        run.processed("model", z)


if __name__ == "__main__":
    serve_declared("squared-loss", declare, run)
