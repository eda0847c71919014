"""aelgabli/PP-QADMM (MATLAB, in Octave), declared: ``python pp_qadmm.py PPQADMM|ADMM_w_DP``.

The functions run unchanged with one worker; labels are regression targets. For PPQADMM a function named
`stochasticQuantizer` stands before theirs, calls it (with 40 bits, so that rounding does not matter) and keeps what
it sends (where theirs divides 0 by 0, the value that was to be rounded). The noise in it is what it sends less what
it would send, on the same history, had the first dual no noise. For ADMM_w_DP a function named `randn` reads x in the
caller.
"""

import math
import sys

import numpy as np
from foreign import Interpreter, matrix, source

from dpadmm.declaring import serve_declared

WHICH, HERE = sys.argv[1], source("aelgabli/PP-QADMM")
OCTAVE = Interpreter(
    "octave",
    f"""
    addpath('{HERE}');
    global given kept silent
    eval(strrep(fileread('{HERE}/stochasticQuantizer.m'), 'stochasticQuantizer', 'their_quantizer'));
    function [sent, bits] = stochasticQuantizer(quantized, current, prev, b)
      global given kept
      [sent, bits] = their_quantizer(quantized, current, prev, b);
      if any(isnan(sent)), sent = current; end
      kept(:, end + 1) = [current; sent];
      if columns(kept) <= columns(given), sent = given(:, columns(kept)); end
    end
    function r = randn(varargin)
      global given kept silent
      r = builtin('randn', varargin{{:}});
      if silent, r = 0 * r; end
      if strcmp('{WHICH}', 'ADMM_w_DP')
        x = evalin('caller', 'x'); sigma = evalin('caller', 'sigma');
        k = columns(kept) + 1;
        kept(:, k) = [x; sigma * r];
        if k <= columns(given), r = (given(:, k) - x) / sigma; end
      end
    end
    """,
)


def declare(parameters, records, _columns):
    """Noise and sensitivity as main.m computes them: 2 c1/(n rho) for a gradient of length c1."""
    sensitivity = 2.0 * parameters["c1"] / (records * parameters["rho"])
    sigma = sensitivity * math.sqrt(2.0 * math.log(1.25 / parameters["delta"])) / parameters["epsilon"]
    scale = sigma / parameters["rho"] if WHICH == "PPQADMM" else sigma
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "domain", "radius": 1.0},
        "iterations": parameters["iterations"],
        "values": [{"name": "sent", "noise": "gaussian", "scale": scale, "sensitivity": sensitivity, "norm": "l2"}],
    }


def call(data, parameters, given, silent, state):
    """One run of their function; two rows of `columns` numbers for each message."""
    count, columns = data.features.shape
    rho, times = parameters["rho"], parameters["iterations"]
    same = f"{matrix(data.features)}, {matrix(data.labels)}, {rho}"
    sizes = f"1, {columns}, {count}, {times}, 0"
    sigma = f"2*{parameters['c1']}*sqrt(2*log(1.25/{parameters['delta']}))/({count}*{parameters['epsilon']}*{rho})"
    if WHICH == "PPQADMM":
        theirs = f"PPQADMM({same}, {sizes}, 40, {sigma}, -1)"
    else:
        theirs = f"ADMM_w_DP({same}, {parameters['delta']}, {parameters['epsilon']}, {sizes}, {parameters['c1']})"
    forced = f"zeros({columns}, 0)" if given is None else matrix(np.asarray(given).T)
    (kept,) = OCTAVE.ask(
        f"{state} given = {forced}; silent = {int(silent)}; kept = zeros({2 * columns}, 0);"
        f"evalc('{theirs};'); show(kept)"
    )
    return kept.reshape(-1, 2, columns)


def run(data, parameters, run):
    """One training; what the worker sends goes through `run`."""
    seed = np.random.default_rng(run.seed).integers(1 << 32)
    state = f"rand('twister', {seed}); builtin('randn', 'twister', {seed});"
    given = (run._outputs or {}).get("sent")
    messages = call(data, parameters, given, False, state)
    if WHICH == "ADMM_w_DP":
        for before, noise in messages:
            run.release("sent", before, noise)
        return
    history = messages[:, 1] if given is None else np.vstack([given, messages[len(given) :, 1]])
    for (out, sent), (quiet, _) in zip(messages, call(data, parameters, history, True, state), strict=True):
        run.release("sent", quiet, out - quiet, sent)


if __name__ == "__main__":
    serve_declared(WHICH, declare, run)
