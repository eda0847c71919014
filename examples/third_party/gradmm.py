"""BigML-CS-UCLA/GRADMM, the noisy mean gradient, observed: ``python gradmm.py``.

`dp_cliped_per_sample_grads` and `dp_add_noise` (gradmm/generate.py) alone are loaded: the rest needs a language
model. The loop over the samples is that of the function which calls them; the gradient of a record is its features.
"""

import math
from types import SimpleNamespace

import torch
from foreign import functions, source

from dpadmm.declaring import serve_observed

NAMES = {"dp_cliped_per_sample_grads", "dp_add_noise"}
THEIRS = functions(source("BigML-CS-UCLA/GRADMM", "gradmm/generate.py"), NAMES, {"torch": torch, "math": math})


def declare(parameters, _records, _columns):
    """A record adds at most C/num_samples; num_samples is public."""
    sensitivity = parameters["dp_c"] / parameters["num_samples"]
    scale = sensitivity * math.sqrt(2 * math.log(1.25 / parameters["dp_delta"])) / parameters["dp_epsilon"]
    value = {"name": "gradient", "noise": "gaussian", "scale": scale, "sensitivity": sensitivity, "norm": "l2"}
    bound = {"kind": "clip", "radius": parameters["dp_c"]}
    return {"neighbours": "add-or-remove", "bound": bound, "values": [value]}


def train(features, _labels, parameters):
    """Clip, average, add noise: their functions in their order."""
    args = SimpleNamespace(**parameters)
    gradients = [THEIRS["dp_cliped_per_sample_grads"](args, [torch.tensor(row)])[0] for row in features]
    mean = sum(gradient / args.num_samples for gradient in gradients)
    return THEIRS["dp_add_noise"](args, [mean], args.num_samples)[0].numpy()


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    serve_observed("gradmm", declare, train, watch={"normal": "gradient"})
