r"""APPFL's ADMM trainers, privacy switched on, behind protocol 1: ``python adapter.py iceadmm|iiadmm``.

Standalone: needs appfl, torch and numpy and nothing of dpadmm. The code under test is APPFL's own, unchanged; this
file feeds it records, asks it for rounds, and hands on *every* value that leaves the client.

How the two vocabularies meet (one client that holds all records, one full-batch local step a round):

* a round is an epoch of mpADMM; the server's global model is z, the client's primal is x, its dual is y. What leaves
  is what the client sends: primal, penalty and, for ICEADMM, the dual. z is the server's, computed from those;
* ``penalty`` is rho. ICEADMM's ``proximity`` is 1/eta; IIADMM has none (its step is the limit of large eta);
* APPFL claims the primal's sensitivity to be ``2 clip_value / penalty``. ``clip_value`` is chosen so that this is
  exactly what the harness takes for the sensitivity of x, 2 C eta / (n (1 + eta rho)): APPFL is measured against a
  claim no smaller than its own;
* APPFL draws Laplace noise of scale sensitivity/epsilon; epsilon is chosen so that its standard deviation is sigma;
* the optimiser that APPFL asks for beside its ADMM step gets a learning rate of 0: it would move the primal as well.
"""

from __future__ import annotations

import base64
import json
import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

warnings.filterwarnings("ignore")

import torch  # noqa: E402 - after the filter: these packages warn while they are imported
from appfl import __version__ as appfl_version  # noqa: E402
from appfl.algorithm.aggregator import ICEADMMAggregator, IIADMMAggregator  # noqa: E402
from appfl.algorithm.trainer import ICEADMMTrainer, IIADMMTrainer, iceadmm_trainer, iiadmm_trainer  # noqa: E402

PAIRS = {
    "iceadmm": (ICEADMMTrainer, ICEADMMAggregator, iceadmm_trainer),
    "iiadmm": (IIADMMTrainer, IIADMMAggregator, iiadmm_trainer),
}
# What the client hands to its server, `get_parameters()`: APPFL's names, and the protocol's for two of them.
SENT = {"iceadmm": ("primal", "dual", "penalty"), "iiadmm": ("primal", "penalty")}
WIRE_NAMES = {"primal": "x", "dual": "y"}
LAYER = "weight"


class Config(dict[str, Any]):
    """What APPFL reads its settings from: items as attributes; OmegaConf would take most of a run's time."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Silent:
    """A logger that says nothing."""

    def log_title(self, titles: list[str]) -> None:
        """Drop it."""

    def log_content(self, contents: list[Any]) -> None:
        """Drop it."""


class Refused(Exception):
    """The request cannot be met; answered as an error."""


class NotOffered(Exception):
    """The request is outside what the trainers do; answered as skipped."""


def logistic(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean logistic loss of labels -1 and +1."""
    return torch.nn.functional.softplus(-target * output[:, 0]).mean()


class Client:
    """One APPFL client with its server: built anew for each run."""

    def __init__(self, which: str, features: torch.Tensor, labels: torch.Tensor, parameters: dict[str, Any]) -> None:
        trainer, aggregator, self._module = PAIRS[which]
        self._which, self._parameters = which, parameters
        n, p = features.shape
        start = {name: np.zeros(p) for name in "xzy"}
        if parameters.get("initial") is not None:
            start = {name: unpack(parameters["initial"][name]) for name in "xzy"}
        server_model, self._model = _linear(start["z"]), _linear(start["x"])
        self._server = aggregator(server_model, Config(optimize_memory=False), Silent())
        self._trainer = trainer(
            model=self._model,
            loss_fn=logistic,
            metric=lambda *_: 0.0,
            train_dataset=torch.utils.data.TensorDataset(features, labels),
            train_configs=Config(
                mode="step",
                num_local_steps=1,
                train_batch_size=n,
                train_data_shuffle=False,
                device="cpu",
                optim="SGD",
                optim_args=Config(lr=0.0),
                residual_balancing=Config(),
                init_penalty=parameters["rho"],
                use_dp=parameters["sigma"] > 0,
                clip_grad=True,
                clip_norm=2,
                clip_value=1.0,
                epsilon=1.0,
            ),
            logger=Silent(),
        )
        self._trainer.set_weight(1.0)
        self._trainer.dual_states[LAYER] = _row(start["y"] if which == "iceadmm" else -start["y"])
        self._global = {LAYER: _row(start["z"])}
        self._records = n

    def round(self, eta: float) -> dict[str, np.ndarray]:
        """Load the global model, train, send to the server; return everything that left, and the dual."""
        rho, sigma, trainer = self._parameters["rho"], self._parameters["sigma"], self._trainer
        sensitivity = 2 * self._parameters["clip"] * eta / (self._records * (1 + eta * rho))
        trainer.train_configs.clip_value = sensitivity * rho / 2
        if sigma > 0:
            trainer.train_configs.epsilon = math.sqrt(2) * sensitivity / sigma
        trainer.proximity = 1 / eta
        trainer.load_parameters(self._global)
        trainer.train()
        sent = trainer.get_parameters()
        if set(sent) != set(SENT[self._which]):
            raise RuntimeError(f"this version of appfl sends {sorted(sent)}, the adapter expects {SENT[self._which]}")
        left = {WIRE_NAMES.get(name, name): _flat(value) for name, value in sent.items()}
        self._global = self._server.aggregate({"client": sent})
        left["z"] = _flat(self._global)
        left.setdefault("y", -_flat(trainer.dual_states))  # IIADMM keeps it, with the other sign: for replay only
        return left

    def run(self) -> dict[str, np.ndarray]:
        """All rounds; arrays of shape [T, ...]."""
        rounds = [self.round(eta) for eta in self._parameters["eta"]]
        return {name: np.stack([one[name] for one in rounds]) for name in rounds[0]}

    def replay(self, noise: np.ndarray) -> dict[str, np.ndarray]:
        """All rounds, with APPFL's sampler replaced by noise that was sent."""
        upcoming, original = iter(noise), self._module.laplace_mechanism_output_perturb

        def given(model: torch.nn.Module, *_: float) -> dict[str, torch.Tensor]:
            return {LAYER: model.state_dict()[LAYER].clone() + _row(next(upcoming))}

        self._module.laplace_mechanism_output_perturb = given
        try:
            return self.run()
        finally:
            self._module.laplace_mechanism_output_perturb = original


def _row(vector: np.ndarray) -> torch.Tensor:
    return torch.tensor(vector, dtype=torch.float64)[None]


def _linear(weights: np.ndarray) -> torch.nn.Module:
    model = torch.nn.Linear(len(weights), 1, bias=False, dtype=torch.float64)
    model.weight.data = _row(weights)
    return model


def _flat(value: Any) -> np.ndarray:
    if isinstance(value, dict):
        return value[LAYER].detach().numpy().reshape(-1).copy()
    return np.array([float(value)])


def pack(array: np.ndarray) -> dict[str, Any]:
    """Base64 of little-endian float64, with the shape."""
    little = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(array.shape), "base64": base64.b64encode(little.tobytes()).decode()}


def unpack(wire: Any) -> np.ndarray:
    """Either form of an array."""
    if isinstance(wire, dict):
        return np.frombuffer(base64.b64decode(wire["base64"]), dtype="<f8").reshape(wire["shape"]).copy()
    return np.array(wire, dtype=np.float64)


class Adapter:
    """Answers the five requests."""

    def __init__(self, which: str) -> None:
        self._which = which
        self._released = [WIRE_NAMES.get(name, name) for name in SENT[which]]
        self._data: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def start(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Say who answers."""
        return {
            "protocol": 1,
            "name": f"APPFL {self._which}",
            "version": appfl_version,
            "language": "python",
            "algorithms": ["mpadmm"],
            "losses": ["logistic"],
            "regularizers": ["none"],
            "capabilities": ["replay", "trials", "every-iterate", "seed", "clip", "initial"],
            "released": {"mpadmm": self._released},
        }

    def data(self, request: dict[str, Any]) -> dict[str, Any]:
        """Keep the records; APPFL itself accepts whatever comes."""
        features = unpack(request["features"])
        labels = np.array(request["labels"], dtype=np.float64)
        self._data[request["name"]] = (torch.tensor(features), torch.tensor(labels))
        return {"records": features.shape[0], "columns": features.shape[1]}

    def replay(self, request: dict[str, Any]) -> dict[str, Any]:
        """One run on the noise that was sent; there is only a place for the primal's."""
        noise = {name: unpack(array) for name, array in request["noise"].items()}
        parameters = {**request["parameters"], "sigma": 1.0}
        return self._result(self._client(request, parameters).replay(noise["x"]), keep=("x", "z", "y"))

    def trials(self, request: dict[str, Any]) -> dict[str, Any]:
        """Independent runs with APPFL's own noise."""
        if request.get("seed") is None:
            torch.seed()
        else:
            torch.manual_seed(request["seed"])
        runs = [self._client(request, request["parameters"]).run() for _ in range(request["count"])]
        values = {name: np.stack([run[name] for run in runs]) for name in runs[0]}
        if request["show"] == "last":
            values = {name: array[:, -1] for name, array in values.items()}
        return self._result(values)

    def _client(self, request: dict[str, Any], parameters: dict[str, Any]) -> Client:
        if request["algorithm"] != "mpadmm" or parameters.get("release") != "all":
            raise NotOffered("the trainers perturb a model after each round: mpadmm, release all")
        if parameters["loss"] != "logistic" or parameters["regularizer"] != "none" or parameters.get("intercept"):
            raise NotOffered("this adapter offers the logistic loss without regularizer and intercept")
        if parameters.get("clip") is None or parameters.get("sigma") is None:
            raise NotOffered("this adapter offers clip, not normalise, and sigma, not noise_multiplier")
        if request["data"] not in self._data:
            raise Refused(f"no data set is called {request['data']!r}")
        return Client(self._which, *self._data[request["data"]], parameters)

    def _result(self, values: dict[str, np.ndarray], keep: tuple[str, ...] = ()) -> dict[str, Any]:
        shown = {name: pack(array) for name, array in values.items() if name in (*self._released, *keep)}
        iterates = {name: shown.pop(name) for name in ("x", "z", "y") if name in shown}
        return {**iterates, "released": shown}

    def stop(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Nothing to say."""
        return {}


def answer(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    """One answer to one request."""
    handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        name: getattr(adapter, name) for name in ("start", "data", "replay", "trials", "stop")
    }
    try:
        return {"id": request["id"], "result": handlers[request["request"]](request)}
    except NotOffered as reason:
        return {"id": request["id"], "skipped": {"reason": str(reason)}}
    except Refused as reason:
        return {"id": request["id"], "error": {"kind": "invalid-data", "message": str(reason)}}
    except Exception as error:  # an answer in any case: the harness decides what it means
        message = f"{type(error).__name__}: {error}"[:2000]
        return {"id": request["id"], "error": {"kind": "internal", "message": message}}


def main() -> int:
    """Serve on stdin and stdout; what the packages print goes to stderr."""
    if len(sys.argv) != 2 or sys.argv[1] not in PAIRS:
        print("usage: python adapter.py iceadmm|iiadmm", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    adapter = Adapter(sys.argv[1])
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as wire:
        os.dup2(2, 1)
        for line in sys.stdin:
            request = json.loads(line)
            wire.write(json.dumps(answer(adapter, request)) + "\n")
            wire.flush()
            if request["request"] == "stop":
                os._exit(0)  # torch takes seconds to tear itself down
    return 0


if __name__ == "__main__":
    sys.exit(main())
