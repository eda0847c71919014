"""Consensus ADMM of two parties with unequal numbers of records and an unweighted mean.

The first third of the records belongs to one party, the rest to the other. Each takes a linearised x-step on the mean
of its own clipped gradients and adds Gaussian noise; consensus and duals are computed from the noisy x alone. A record
belongs to one party, and moves its x by at most 2 clip eta/(records of the party (1 + eta rho)).
"""

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, records, _columns):
    """What leaves, and what protects it."""
    eta, rho = parameters["eta"], parameters["rho"]
    sensitivity = 2.0 * parameters["clip"] * eta / (records // 3 * (1.0 + eta * rho))
    noise = {"noise": "gaussian", "scale": parameters["sigma"], "sensitivity": sensitivity, "norm": "l2"}
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "clip", "radius": parameters["clip"]},
        "iterations": parameters["iterations"],
        "values": [{"name": "x", **noise}, {"name": "consensus", "noise": "none", "from": ["x"]}],
    }


def mean_gradient(features, labels, x, clip):
    """The mean of the clipped gradients of the logistic loss."""
    margins = np.clip(labels * (features @ x), -700.0, 700.0)
    gradients = -(labels / (1.0 + np.exp(margins)))[:, None] * features
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.mean(gradients * np.minimum(1.0, clip / np.maximum(lengths, 1e-300)), axis=0)


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    n, p = data.features.shape
    parts = (slice(0, n // 3), slice(n // 3, n))
    eta, rho, clip = parameters["eta"], parameters["rho"], parameters["clip"]
    x, y, z = np.zeros((2, p)), np.zeros((2, p)), np.zeros(p)
    for _ in range(parameters["iterations"]):
        steps = [mean_gradient(data.features[part], data.labels[part], x[i], clip) for i, part in enumerate(parts)]
        before = (rho * z + x / eta - y - np.array(steps)) / (rho + 1.0 / eta)
        x = run.release("x", before, run.gaussian((2, p), parameters["sigma"]))
        z = np.mean(x + y / rho, axis=0)
        y = y + rho * (x - z)
        run.public("penalty", rho)
        run.processed("consensus", z)


if __name__ == "__main__":
    serve_declared("two-parties", declare, run)
