"""APPFL's ADMM clients as declared algorithms: ``python appfl_admm.py iceadmm|iiadmm``.

The trainers and aggregators are APPFL's own, unchanged: one client that holds all records, with its server. This file
feeds them records and hands on everything that `get_parameters()` holds. With `use_dp` APPFL draws Laplace noise for a
sensitivity of 2 clip_value / penalty, once a round (appfl/algorithm/trainer/iiadmm_trainer.py, "Differential Privacy").
"""

import os
import sys
import warnings

import numpy as np

from dpadmm.declaring import DeclaredRun, Records, serve_declared

warnings.filterwarnings("ignore")

import torch  # noqa: E402 - after the filter: these packages warn while they are imported
from appfl import __version__ as version  # noqa: E402
from appfl.algorithm.aggregator import ICEADMMAggregator, IIADMMAggregator  # noqa: E402
from appfl.algorithm.trainer import ICEADMMTrainer, IIADMMTrainer, iceadmm_trainer, iiadmm_trainer  # noqa: E402

PAIRS = {
    "iceadmm": (ICEADMMTrainer, ICEADMMAggregator, iceadmm_trainer),
    "iiadmm": (IIADMMTrainer, IIADMMAggregator, iiadmm_trainer),
}
WHICH = sys.argv[1]
LAYER = "weight"


class Config(dict):
    """Items as attributes, as APPFL reads its settings; OmegaConf would take most of a run's time."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__


class Silent:
    """A logger that says nothing."""

    def __getattr__(self, _name):
        return lambda *_: None


def declare(parameters, _records, _columns):
    """What leaves, and what protects it."""
    sensitivity = 2.0 * parameters["clip_value"] / parameters["init_penalty"]
    primal = {"name": "primal", "noise": "laplace", "scale": sensitivity / parameters["epsilon"]}
    values = [primal | {"sensitivity": sensitivity, "norm": "l1"}]
    values += [{"name": "dual", "noise": "none", "from": ["primal"]}] if WHICH == "iceadmm" else []
    return {
        "neighbours": "replace-one",
        "bound": {"kind": "clip", "radius": parameters["clip_value"]},
        "iterations": parameters["rounds"],
        "values": [*values, {"name": "global", "noise": "none", "from": ["primal"]}],
    }


def run(data: Records, parameters: dict, run: DeclaredRun) -> None:
    """All rounds; what the client sends goes through `run`."""
    torch.seed() if run.seed is None else torch.manual_seed(run.seed % (1 << 63))
    trainer_class, aggregator, module = PAIRS[WHICH]
    features, labels = torch.tensor(data.features), torch.tensor(data.labels)
    settings = {"mode": "step", "train_batch_size": len(labels), "train_data_shuffle": False, "device": "cpu"}
    settings |= {"optim": "SGD", "optim_args": Config(lr=0.01), "use_dp": True, "clip_grad": True}
    settings |= {"num_local_steps": 1, "residual_balancing": Config(), **parameters}
    trainer = trainer_class(
        model=linear(features.shape[1]),
        loss_fn=lambda output, target: torch.nn.functional.softplus(-target * output[:, 0]).mean(),
        metric=lambda *_: 0.0,
        train_dataset=torch.utils.data.TensorDataset(features, labels),
        train_configs=Config(settings),
        logger=Silent(),
    )
    trainer.set_weight(1.0)
    server = aggregator(linear(features.shape[1]), Config(optimize_memory=False), Silent())
    original, received = module.laplace_mechanism_output_perturb, {LAYER: torch.zeros_like(trainer.model.weight.data)}

    def perturb(model, sensitivity, epsilon):
        before = flat(model.state_dict())
        noise = flat(original(model, sensitivity, epsilon)) - before
        return {LAYER: torch.tensor(run.release("primal", before, noise))[None]}

    module.laplace_mechanism_output_perturb = perturb
    try:
        for _ in range(parameters["rounds"]):
            trainer.load_parameters(received)
            trainer.train()
            sent = trainer.get_parameters()
            received = server.aggregate({"client": sent})
            run.public("penalty", sent["penalty"])
            for name in set(sent) - {"primal", "penalty"}:
                run.processed(name, flat(sent[name]))
            run.processed("global", flat(received))
    finally:
        module.laplace_mechanism_output_perturb = original


def linear(columns):
    """A linear model that starts at 0."""
    model = torch.nn.Linear(columns, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    return model


def flat(state):
    """The numbers of a state dictionary."""
    return state[LAYER].detach().numpy().reshape(-1).astype(np.float64)


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve_declared(WHICH, declare, run, version=version)
    os._exit(0)  # torch may take longer to end than the harness waits
