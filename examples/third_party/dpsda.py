"""chq-SWU/DP_Online_Optimization..., DPSDA-C (MATLAB, in Octave), declared: ``python dpsda.py``.

OLR_Synthetic/DPSDA_C.m runs unchanged with one node. A function named `rand_laplace` stands before theirs: it calls
theirs, reads z in the caller (what the noise is added to), and keeps both. What a node sends is h = z + noise, in
every round but the first, where z is 0. Records are in the ranges of Synthetic_main.m; y is kept in [-5, 5] by the
algorithm.
"""

import numpy as np
from foreign import Interpreter, matrix, source

from dpadmm.declaring import serve_declared

OLR = source("chq-SWU/DP_Online_Optimization_for_Nondecomposable_Global_Objectives", "OLR_Synthetic")
OCTAVE = Interpreter(
    "octave",
    f"""
    addpath('{OLR}');
    eval(strrep(fileread('{OLR}/rand_laplace.m'), 'rand_laplace', 'their_laplace'));
    function r = rand_laplace(m, n, b)
      global given kept
      z = evalin('caller', 'z(:,i)');
      drawn = their_laplace(m, n, b);
      k = columns(kept) + 1;
      kept(:, k) = [z; drawn];
      if k <= columns(given), r = given(:, k) - z; else r = drawn; end
    end
    global given kept
    """,
)


def declare(parameters, records, columns):
    """Every later round sends what one more record went into: |subgradient| <= (5 columns/2 + 1) columns/2."""
    sensitivity = 2 * (2.5 * columns + 1.0) * columns / 2
    h = {"name": "h", "noise": "laplace", "scale": parameters["sigma"], "sensitivity": sensitivity, "norm": "l1"}
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "domain", "box": [-0.5, 0.5]},
        "iterations": records - 1,
        "values": [h],
    }


def run(data, parameters, run):
    """One pass over the records; the sent vectors go through `run`."""
    rounds, columns = data.features.shape
    forced = (run._outputs or {}).get("h")
    given = np.zeros((columns, 0)) if forced is None else np.asarray(forced).T
    if run.seed is not None:
        OCTAVE.ask(f"rand('twister', {run.seed % (1 << 32)}); randn('twister', {run.seed % (1 << 32)});")
    (kept,) = OCTAVE.ask(
        f"given = {matrix(given) if given.size else f'zeros({columns}, 0)'}; kept = zeros({2 * columns}, 0);"
        f"DPSDA_C({columns}, 1, {rounds}, {matrix(data.features.T)}, {matrix([data.labels])}, 0, zeros(1, 1, {rounds}),"
        f" {parameters['sigma']}, -5, 5); show(kept)"
    )
    for column in kept.reshape(-1, 2 * columns):
        run.release("h", column[:columns], column[columns:])


if __name__ == "__main__":
    serve_declared("dpsda-c", declare, run)
