"""ADMM with an exact x-step and Gaussian noise on the dual, declared by what it releases and what protects it.

f is the mean logistic loss of records that are scaled down to norm 1. The x-step minimises f(x) + <y, x> +
rho/2 |x - z|^2 exactly; only the dual y + rho (x - z) leaves, with noise, and everything else is computed from it.
The minimiser of a rho-strongly convex function moves by at most 2/(n rho) when one of n gradients of norm 1 is another.
"""

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared


def declare(parameters, records, _columns):
    """What leaves, and what protects it."""
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "normalise", "radius": 1.0},
        "iterations": parameters["iterations"],
        "values": [
            {
                "name": "dual",
                "noise": "gaussian",
                "scale": parameters["sigma"],
                "sensitivity": 2.0 / records,
                "norm": "l2",
            },
            {"name": "model", "noise": "none", "from": ["dual"]},
        ],
    }


def exact_x(points, y, z, rho):
    """The minimiser of the mean logistic loss + <y, x> + rho/2 |x - z|^2."""
    signed = points.features * points.labels[:, None]

    x = z - y / rho  # without the loss; its gradient is at most 1, so the minimiser is no further than 1/rho
    for _ in range(50):
        slopes = -1.0 / (1.0 + np.exp(np.clip(signed @ x, -700.0, 700.0)))
        gradient = signed.T @ slopes / len(signed) + y + rho * (x - z)
        if np.linalg.norm(gradient) < 1e-12 * (1.0 + np.linalg.norm(y)):
            break
        curvature = -slopes * (1.0 + slopes)
        hessian = (signed.T * curvature) @ signed / len(signed) + rho * np.eye(len(x))
        x = x - np.linalg.solve(hessian, gradient)
    return x


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One run; what leaves goes through `run`."""
    lengths = np.linalg.norm(data.features, axis=1, keepdims=True)
    points = Records(data.features / np.maximum(lengths, 1.0), data.labels)
    rho, threshold = parameters["rho"], parameters["lambda"] / parameters["rho"]
    p = points.features.shape[1]
    y, z = np.zeros(p), np.zeros(p)
    for _ in range(parameters["iterations"]):
        x = exact_x(points, y, z, rho)
        before = y
        y = run.release("dual", y + rho * (x - z), run.gaussian(p, parameters["sigma"]))
        noisy_x = z + (y - before) / rho
        moved = noisy_x + y / rho
        z = np.sign(moved) * np.maximum(np.abs(moved) - threshold, 0.0)
        run.processed("model", z)


if __name__ == "__main__":
    serve_declared("dual-admm", declare, run)
