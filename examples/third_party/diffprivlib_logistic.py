"""diffprivlib's LogisticRegression, declared or as a black box: ``python diffprivlib_logistic.py [black-box]``.

`fit` refuses data of one class, so two public records without features, one of each class, are added to every data set
(with `one_class = "NaN"` they are not, and a refusal is answered with NaN: an audit sees it). The objective is that of
[CMS11], Algorithm 2, and the declaration repeats what `diffprivlib.mechanisms.Vector` computes from its parameters.
"""

import json
import math
import sys
import warnings

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared
from verification.served.black_box import serve_function

warnings.filterwarnings("ignore")

import diffprivlib  # noqa: E402 - after the filter
from diffprivlib.mechanisms import Vector  # noqa: E402
from diffprivlib.models import LogisticRegression  # noqa: E402

ORIGINAL = Vector.randomise
PUBLIC_LABELS = np.array([-1.0, 1.0])


def declare(parameters, _records, _columns):
    """What leaves, and what protects it: the numbers of Vector.randomise (mechanisms/vector.py)."""
    epsilon, ridge = parameters["epsilon"], 1.0 / parameters["C"]
    norm = math.sqrt(parameters["data_norm"] ** 2 + parameters["fit_intercept"])
    rest = epsilon - 2 * math.log(1 + 0.25 * norm / ridge)
    if rest <= 0:
        ridge, rest = 0.25 * norm / math.expm1(epsilon / 4), epsilon / 2
    value = {"name": "model", "noise": "gamma-norm", "scale": 2 * norm / rest, "sensitivity": 2 * norm, "norm": "l2"}
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "normalise", "radius": parameters["data_norm"]},
        "values": [value | {"enters": "objective", "jacobian": 2 * math.log(1 + 0.25 * norm / ridge)}],
    }


def fit(features, labels, parameters, seed):
    """One fit: the model, the noise, and the gradient of n times the objective without the noise."""
    seen = {}

    def randomise(self, objective):
        noisy = ORIGINAL(self, objective)

        def observed(w, *args):
            seen.update(objective=objective, noisy=noisy, args=args, n=self.n)
            return noisy(w, *args)

        return observed

    Vector.randomise = randomise
    settings = {name: value for name, value in parameters.items() if name != "one_class"}
    model = LogisticRegression(**settings, random_state=seed).fit(features, labels)
    w = np.append(model.coef_[0], model.intercept_) if parameters["fit_intercept"] else model.coef_[0]

    def gradient(function, at):
        return seen["n"] * seen[function](at, *seen["args"])[1]

    zero = np.zeros_like(w)
    noise = gradient("noisy", zero) - gradient("objective", zero)
    return w, noise, lambda at: gradient("noisy", at) - noise


def with_public(features, labels):
    """The records, and one of each class without features."""
    return np.vstack([features, np.zeros((2, features.shape[1]))]), np.append(labels, PUBLIC_LABELS)


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One fit; what leaves goes through `run`."""
    seed = None if run.seed is None else run.seed % (1 << 32)
    w, noise, gradient = fit(*with_public(data.features, data.labels), parameters, seed)
    run.minimise("model", noise, lambda _: w, gradient)


def black_box(parameters):
    """What one fit releases, and nothing else."""

    def train(features, labels, _rng):
        if parameters.get("one_class") != "NaN":
            return fit(*with_public(features, labels), parameters, None)[0]
        try:
            return fit(features, labels, parameters, None)[0]
        except ValueError:
            return np.full(features.shape[1] + parameters["fit_intercept"], np.nan)

    return train


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve_function(black_box(json.loads(sys.argv[1])), "diffprivlib LogisticRegression")
    else:
        serve_declared("diffprivlib-logistic", declare, run, version=diffprivlib.__version__)
