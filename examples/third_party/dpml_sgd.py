"""sunblaze-ucb/dpml-benchmark, private stochastic gradient descent, observed: ``python dpml_sgd.py``.

`PrivateGDLR.run_classification` (algorithms/gradient_descent.py) runs unchanged; rows are of norm at most L = 1, as
gridsearch.py clips them. Its batches come from `np.random.choice`, which is marked.
"""

import math
import sys

import numpy as np
from foreign import source

from dpadmm.declaring import drawn, serve_observed

sys.path.insert(0, str(source("sunblaze-ucb/dpml-benchmark")))
from algorithms.gradient_descent import PrivateGDLR

np.random.choice = drawn(np.random.choice)
BATCH = 50


def declare(parameters, records, _columns):
    """The deviation of `private_gradient_descent_minibatch`, on the mean gradient of a batch."""
    log = math.log(1.0 / parameters["delta"])
    scale = 4.0 * math.sqrt(parameters["iterations"] * log) / (records * parameters["epsilon"])
    gradient = {"name": "gradient", "noise": "gaussian", "scale": scale, "norm": "l2", "sensitivity": 2.0 / BATCH}
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "domain", "radius": 1.0},
        "sampling": {"kind": "with-replacement", "batch": BATCH},
        "iterations": parameters["iterations"],
        "values": [gradient, {"name": "model", "noise": "none", "from": ["gradient"], "count": 1}],
    }


def train(features, labels, parameters):
    """The model, which is all that leaves."""
    p = parameters
    return PrivateGDLR.run_classification(features, labels, p["epsilon"], p["delta"], 0, 0.1, p["iterations"], BATCH)


if __name__ == "__main__":
    serve_observed("dpml-sgd", declare, train, returns="model", watch={"normal": "gradient"})
