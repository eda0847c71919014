"""mhnarimani/FedRP, one round, declared: ``python fedrp.py``.

The class `FedRP` (lenet5.py) runs unchanged with one client, a linear model of two classes and plain gradient steps.
What a client sends is its projected model, `projected_params`. The projection matrix is drawn from the seed 42 +
epoch, so that all of it is public: what is sent has no noise.
"""

import math
from abc import ABCMeta, abstractmethod

import numpy as np
import torch
from foreign import functions, source

from dpadmm.declaring import serve_declared

GIVEN = {"torch": torch, "np": np, "math": math, "ABCMeta": ABCMeta, "abstractmethod": abstractmethod}
THEIRS = functions(source("mhnarimani/FedRP", "lenet5.py"), {"FederatedLearning", "FLBase", "FedRP"}, GIVEN)


def declare(parameters, _records, _columns):
    """The noise that a claim of (epsilon, delta) needs for what moves by 1."""
    scale = math.sqrt(2 * math.log(1.25 / parameters["delta"])) / parameters["epsilon"]
    value = {"name": "projected", "noise": "gaussian", "scale": scale, "sensitivity": 1.0, "norm": "l2"}
    return {"neighbours": "replace-one", "bound": {"kind": "domain", "radius": 1.0}, "values": [value]}


def run(data, parameters, run):
    """One round of one client."""
    features, labels = torch.tensor(data.features), torch.tensor((data.labels > 0).astype(np.int64))

    def model():
        made = torch.nn.Linear(features.shape[1], 2, bias=False)
        torch.nn.init.zeros_(made.weight)
        return made

    server = THEIRS["FedRP"](model, "cpu", 1, torch.optim.SGD, torch.nn.CrossEntropyLoss, 2.0, parameters["rp_dim"])
    server.client_dataloaders = [[(features, labels)]]
    server.global_update(model().state_dict(), 0.1, 1, 0)
    sent = server.projected_params[0].detach().numpy()
    run.release("projected", sent, np.zeros_like(sent))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    serve_declared("fedrp", declare, run)
