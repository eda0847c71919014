"""Opacus' DP-SGD as a declared algorithm: ``python opacus_sgd.py``.

Sampler, clipping, noise and optimizer are Opacus' own. What leaves a step is the noisy sum of clipped gradients and the
model. The parameter `engine` says who puts them together: PrivacyEngine.make_private, which takes the rate and the
expected batch from the size of the data set it is given; or this file, from a public number of records.
"""

import math
import os
import warnings

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared

warnings.filterwarnings("ignore")

import opacus  # noqa: E402 - after the filter: these packages warn while they are imported
import torch  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.optimizers import DPOptimizer, optimizer  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

ORIGINAL = optimizer._generate_noise


def declare(parameters, records, _columns):
    """What leaves, and what protects it."""
    clip, steps = parameters["max_grad_norm"], math.ceil(records / parameters["batch_size"])
    noise = {"noise": "gaussian", "scale": parameters["noise_multiplier"] * clip, "sensitivity": clip, "norm": "l2"}
    return {
        "neighbours": "add-or-remove",
        "bound": {"kind": "clip", "radius": clip},
        "sampling": {"kind": "poisson", "rate": 1 / steps},
        "iterations": parameters["epochs"] * steps,
        "values": [{"name": "sum", **noise}, {"name": "model", "noise": "none", "from": ["sum"]}],
    }


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """One training; every noisy sum and every model goes through `run`."""
    for_noise, for_batches = (generator(run, stream) for stream in range(2))
    features, labels = torch.tensor(data.features), torch.tensor(data.labels)
    model = torch.nn.Linear(features.shape[1], 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    noise = {"noise_multiplier": parameters["noise_multiplier"], "max_grad_norm": parameters["max_grad_norm"]}
    plain, positions = torch.optim.SGD(model.parameters(), lr=parameters["lr"]), torch.arange(len(labels))
    size = parameters["batch_size"]
    loader = DataLoader(TensorDataset(positions), batch_size=size, shuffle=True, generator=for_batches)
    if parameters["engine"]:
        model, private, loader = opacus.PrivacyEngine().make_private(
            module=model, optimizer=plain, data_loader=loader, noise_generator=for_noise,
            poisson_sampling=parameters.get("poisson_sampling", True), **noise,
        )  # fmt: skip
    else:
        model = opacus.GradSampleModule(model)
        private = DPOptimizer(plain, expected_batch_size=size, generator=for_noise, **noise)
        rate = 1 / math.ceil(parameters["records"] / size)
        loader = DPDataLoader(loader.dataset, sample_rate=rate, generator=for_batches)

    def observed(std, reference, **options):
        drawn = ORIGINAL(std, reference, **options)
        leaving = run.release("sum", reference[0].numpy().copy(), drawn[0].numpy())
        return torch.tensor(leaving)[None] - reference

    optimizer._generate_noise = observed
    for _ in range(parameters["epochs"]):
        for (drawn,) in loader:
            batch = torch.tensor(run.taken_batch(drawn.numpy().astype(np.intp)))
            private.zero_grad()
            torch.nn.functional.softplus(-labels[batch] * model(features[batch])[:, 0]).mean().backward()
            private.step()
            run.processed("model", next(model.parameters())[0].detach().numpy())


def generator(run, stream):
    """Torch's randomness, from the run's seed or from the system; noise and batches must not share it."""
    made = torch.Generator()
    made.seed() if run.seed is None else made.manual_seed((2 * run.seed + stream) % (1 << 63))
    return made


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve_declared("opacus-dp-sgd", declare, run, version=opacus.__version__)
    os._exit(0)  # torch may take longer to end than the harness waits
