"""Gradient perturbation with Laplace noise: pure epsilon in every iteration.

Every gradient is scaled down to an l1 norm of at most `clip`, so the mean over n records moves by at most 2 clip/n in
the l1 norm; an iteration costs epsilon 2 clip/(n scale).
"""

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, records, _columns):
    """What leaves, and what protects it."""
    gradient = {"noise": "laplace", "scale": parameters["scale"], "norm": "l1"}
    gradient["sensitivity"] = 2.0 * parameters["clip"] / records
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "clip", "radius": parameters["clip"]},
        "iterations": parameters["iterations"],
        "values": [{"name": "gradient", **gradient}, {"name": "model", "noise": "none", "from": ["gradient"]}],
    }


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    features, labels = data.features, data.labels
    x = np.zeros(features.shape[1])
    for _ in range(parameters["iterations"]):
        margins = np.clip(labels * (features @ x), -700.0, 700.0)
        gradients = -(labels / (1.0 + np.exp(margins)))[:, None] * features
        lengths = np.abs(gradients).sum(axis=1, keepdims=True)
        mean = np.mean(gradients * np.minimum(1.0, parameters["clip"] / np.maximum(lengths, 1e-300)), axis=0)
        x = x - parameters["eta"] * run.release("gradient", mean, run.laplace(len(x), parameters["scale"]))
        run.processed("model", x)


if __name__ == "__main__":
    serve_declared("laplace-gradient", declare, run)
