"""APPFL/DPFL-IADMM-Classification, observed: ``python dpfl_iadmm.py OutP|ObjP``.

`DP_IADMM` (src/Algorithms.py) runs unchanged: one agent, two classes, pixels between 0 and 1 as in src/Read.py. What
an agent sends is Z. The declaration has the sensitivity of the gradient at pixels in that box.
"""

import contextlib
import io
import math
import sys
from types import SimpleNamespace

import numpy as np
from foreign import source

from dpadmm.declaring import serve_observed

sys.path.insert(0, str(source("APPFL/DPFL-IADMM-Classification", "src")))
import Algorithms

WHICH = sys.argv[1]


def declare(parameters, records, columns):
    """OutP: generate_matrix_normal_noise computes sigma; ObjP: generate_laplacian_noise, at the largest record.

    ``power`` 1 declares the deviation sigma of the formula, 2 the deviation sigma^2 that the code passes to numpy.
    """
    epsilon, values = float(parameters["bar_eps"]), []
    rho = 2.0 + 5.0 / epsilon
    if WHICH == "OutP":
        step = rho + 0.25 * records + 2.0 * math.sqrt(math.log(1.25e6)) / epsilon
        sigma = 2.0 * math.sqrt(2.0 * math.log(1.25e6)) / (epsilon * step)
        noise = {"noise": "gaussian", "scale": sigma ** parameters["power"], "norm": "l2"}
        values = [noise | {"sensitivity": math.sqrt(2.0 * columns) / (records * step)}]
    else:
        noise = {"noise": "laplace", "scale": columns / (records * epsilon), "norm": "l1"}
        values = [noise | {"sensitivity": 2.0 * columns / records}]
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "domain", "box": [0.0, 1.0]},
        "values": [{"name": "sent", **values[0]}, {"name": "W", "noise": "none", "from": ["sent"]}],
    }


def train(features, labels, parameters):
    """One iteration of their algorithm; the global model that follows from what the agent sent."""
    par = SimpleNamespace(Algorithm=WHICH, Instance="MNIST", bar_eps_str=parameters["bar_eps"], rho_str="dynamic_1")
    par.a_str, par.gamma, par.split_number, par.training_steps, par.display_step = "1.0", 0.0, 1, 0, 1
    par.num_features, par.num_classes, par.total_data = features.shape[1], 2, len(labels)
    classes = (labels > 0).astype(int)
    with contextlib.redirect_stdout(io.StringIO()):
        Algorithms.DP_IADMM(
            par, [features], [classes], features, np.append(classes[:-1], 1), features, classes, io.StringIO()
        )
    return par.Z_val[0]


if __name__ == "__main__":
    watch = {"normal": "sent"} if WHICH == "OutP" else {"laplace": "sent"}
    serve_observed(f"dpfl-iadmm-{WHICH}", declare, train, returns="W", watch=watch)
