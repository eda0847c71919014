"""Private gradient descent with Poisson batches, neighbours by adding or removing one record.

Every record joins a batch with probability `rate`. The sum of the clipped gradients, over the *expected* size of a
batch, moves by at most clip/(rate records) when a record is added or removed; `records` is public.
"""

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, _records, _columns):
    """What leaves, and what protects it."""
    gradient = {"noise": "gaussian", "scale": parameters["sigma"], "norm": "l2"}
    gradient["sensitivity"] = parameters["clip"] / (parameters["rate"] * parameters["records"])
    return {
        "neighbours": "add-or-remove",
        "bound": {"kind": "clip", "radius": parameters["clip"]},
        "sampling": {"kind": "poisson", "rate": parameters["rate"]},
        "iterations": parameters["iterations"],
        "values": [{"name": "gradient", **gradient}, {"name": "model", "noise": "none", "from": ["gradient"]}],
    }


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    n, p = data.features.shape
    x = np.zeros(p)
    for _ in range(parameters["iterations"]):
        batch = run.poisson(n, parameters["rate"])
        features, labels = data.features[batch], data.labels[batch]
        margins = np.clip(labels * (features @ x), -700.0, 700.0)
        gradients = -(labels / (1.0 + np.exp(margins)))[:, None] * features
        lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = np.sum(gradients * np.minimum(1.0, parameters["clip"] / np.maximum(lengths, 1e-300)), axis=0)
        mean = total / (parameters["rate"] * parameters["records"])
        x = x - parameters["eta"] * run.release("gradient", mean, run.gaussian(p, parameters["sigma"]))
        run.processed("model", x)


if __name__ == "__main__":
    serve_declared("poisson-sgd", declare, run)
