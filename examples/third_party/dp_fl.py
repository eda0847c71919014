"""wenzhu23333/Differential-Privacy-Based-Federated-Learning, one local update, declared: ``python dp_fl.py``.

`LocalUpdateDP` (models/Update.py) runs unchanged on a linear model of two classes; per-sample gradients are those of
Opacus, as in its main.py. What a client sends is its model. A dictionary in the place of `np.random` keeps the noise.
"""

import math
import warnings
from types import SimpleNamespace

import numpy as np
from foreign import functions, source

from dpadmm.declaring import serve_declared

warnings.filterwarnings("ignore")
import torch  # noqa: E402 - after the filter
from opacus import GradSampleModule  # noqa: E402
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

REPOSITORY = "wenzhu23333/Differential-Privacy-Based-Federated-Learning"
NAMES = {"cal_sensitivity", "Laplace", "Gaussian_Simple"}
GIVEN = functions(source(REPOSITORY, "utils/dp_mechanism.py"), NAMES, {"np": np})
GIVEN |= {"torch": torch, "nn": torch.nn, "DataLoader": DataLoader, "Dataset": Dataset, "autograd": None}
THEIRS = functions(source(REPOSITORY, "models/Update.py"), {"DatasetSplit", "LocalUpdateDP"}, GIVEN)
LocalUpdateDP = THEIRS["LocalUpdateDP"]


def declare(parameters, records, _columns):
    """cal_sensitivity: 2 lr clip/n; the noise of one of `times` messages."""
    sensitivity = 2.0 * parameters["lr"] * parameters["clip"] / records
    gaussian = parameters["mechanism"] == "Gaussian"
    factor = math.sqrt(2.0 * math.log(1.25 / parameters["delta"])) if gaussian else 1.0
    value = {"name": "model", "sensitivity": sensitivity, "scale": sensitivity * factor / parameters["epsilon"]}
    value |= {"noise": "gaussian", "norm": "l2"} if gaussian else {"noise": "laplace", "norm": "l1"}
    bound = {"kind": "clip", "radius": parameters["clip"]}
    return {"neighbours": "replace-one", "bound": bound, "values": [value]}


def run(data, parameters, run):
    """One local update; the model goes through `run`."""
    seed = np.random.SeedSequence(run.seed).generate_state(2)
    np.random.seed(seed[0])  # noqa: NPY002 - the generator that theirs draws from
    torch.manual_seed(int(seed[1]))
    args = {"dp_sample": 1.0, "epochs": 1, "frac": 1.0, "lr": parameters["lr"], "lr_decay": 1.0, "device": "cpu"}
    args |= {"dp_mechanism": parameters["mechanism"], "dp_epsilon": parameters["epsilon"]}
    args |= {"dp_delta": parameters["delta"], "dp_clip": parameters["clip"]}
    features, labels = torch.tensor(data.features), torch.tensor((data.labels > 0).astype(np.int64))
    net = GradSampleModule(torch.nn.Linear(features.shape[1], 2, bias=False, dtype=torch.float64))
    torch.nn.init.zeros_(next(net.parameters()))
    client = LocalUpdateDP(SimpleNamespace(**args), TensorDataset(features, labels), range(len(labels)))
    kept = []
    original, client.add_noise = client.add_noise, lambda net: (kept.append(flat(net)), original(net))
    client.train(net)
    run.release("model", kept[0], flat(net) - kept[0])


def flat(net):
    """The numbers of the model."""
    return next(net.parameters()).detach().numpy().reshape(-1).copy()


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve_declared("dp-fl", declare, run)
