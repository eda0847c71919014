"""brubinstein/diffpriv (R), declared: ``python diffpriv_r.py laplace|gaussian``.

The package's R files are sourced as they are; `releaseResponse` releases column means of records in a box. The noise
is what it releases less the mean.
"""

import math
import sys

from foreign import Interpreter, source

from dpadmm.declaring import serve_declared

WHICH, HERE = sys.argv[1], source("brubinstein/diffpriv", "R")
FILES = ["utils", "privacy_params", "mechanisms", "numeric_mechanism", "laplace_mechanism", "gaussian_mechanism"]
R = Interpreter(
    "r",
    "\n".join(f"source('{HERE}/{name}.R', local = FALSE)" for name in FILES) + "\nmean_of <- function(X) colMeans(X)",
)


def declare(parameters, records, columns):
    """Sensitivity of a mean of records in [-1, 1]; scales as responseCore computes them."""
    one = {"name": "mean", "norm": "l1" if WHICH == "laplace" else "l2", "noise": WHICH}
    one["sensitivity"] = 2.0 / records * (columns if WHICH == "laplace" else math.sqrt(columns))
    factor = 1.0 if WHICH == "laplace" else math.sqrt(2.0 * math.log(1.25 / parameters["delta"]))
    one["scale"] = one["sensitivity"] * factor / parameters["epsilon"]
    return {"neighbours": "replace-one", "bound": {"kind": "domain", "box": [-1.0, 1.0]}, "values": [one]}


def run(data, parameters, run):
    """One response."""
    records, columns = data.features.shape
    sensitivity = declare(parameters, records, columns)["values"][0]["sensitivity"]
    seed = "" if run.seed is None else f"set.seed({run.seed % (1 << 31)});"
    mechanism = "DPMechLaplace" if WHICH == "laplace" else "DPMechGaussian"
    level = f"epsilon = {parameters['epsilon']}" + ("" if WHICH == "laplace" else f", delta = {parameters['delta']}")
    numbers = ",".join(repr(float(x)) for x in data.features.reshape(-1))
    before, released = R.ask(
        f"{seed} X <- matrix(c({numbers}), ncol = {columns}, byrow = TRUE);"
        f"m <- {mechanism}(sensitivity = {sensitivity!r}, target = mean_of, dims = {columns});"
        f"r <- releaseResponse(m, {'DPParamsEps' if WHICH == 'laplace' else 'DPParamsDel'}({level}), X);"
        "show_numbers(mean_of(X)); show_numbers(r$response)"
    )
    run.release("mean", before, released - before)


if __name__ == "__main__":
    serve_declared(f"diffpriv-{WHICH}", declare, run)
