"""hyclex/fdml_dp_admm_sharing, declared: ``python fdml.py``.

src/fdml.py is Python 2 and is loaded with its one print statement in parentheses. The settings are those of config.py
with the epsilon and delta of a call such as script/test_all.sh has (``../data/a9a 0.0 2 100 1 0.01``); that call
leaves `is_with_noise` off. What a worker sends is `get_Dx_no_noise`.
"""

import contextlib
import io
import math
import warnings
from types import SimpleNamespace

import numpy as np
from foreign import functions, source
from scipy import optimize, sparse

from dpadmm.declaring import serve_declared

warnings.filterwarnings("ignore")
CONFIG = functions(source("hyclex/fdml_dp_admm_sharing", "src/config.py"), None, {})["config"]
LOADED = SimpleNamespace(run=None, data=None)
THEIRS = functions(
    source("hyclex/fdml_dp_admm_sharing", "src/fdml.py"),
    {"nodes", "server", "worker", "coord"},
    {
        "np": np, "math": math, "sparse": sparse, "os": __import__("os"), "time": __import__("time"),
        "minimize": optimize.minimize, "minimize_scalar": optimize.minimize_scalar,
        "util": SimpleNamespace(
            load_svmlightfile_data=lambda *_: LOADED.data * 2, logloss=None, sigmoid=lambda x: x,
            logloss_logit_form=lambda *_: 0.0,
        ),
    },
    lambda text: text.replace("print sigma**2", "print(sigma**2)"),
)  # fmt: skip


def sent(self, is_train=True):
    """In the place of get_Dx_no_noise: the same vector, kept."""
    if is_train:
        self.Qx = LOADED.run.release("sent", self.Qx, np.zeros_like(self.Qx))
    return self.Qx


THEIRS["worker"].get_Dx_no_noise = sent


def declare(parameters, _records, _columns):
    """The noise that this epsilon and delta need for a message that moves by 1 (`sigma_const` in worker.__init__)."""
    scale = math.sqrt(2 * math.log(1.25 / parameters["delta"])) / parameters["epsilon"]
    value = {"name": "sent", "noise": "gaussian", "scale": scale, "sensitivity": 1.0, "norm": "l2", "count": 1}
    return {"neighbours": "replace-one", "bound": {"kind": "domain", "radius": 1.0}, "values": [value]}


def run(data, parameters, run):
    """One iteration with one worker."""
    LOADED.run, LOADED.data = run, (sparse.csr_matrix(data.features), data.labels.astype(float))
    config = CONFIG | {"num_workers": 1, "max_iter": 1, "noise_eval_method": "computed", "is_verbose": False}
    config |= {"epsilon": parameters["epsilon"], "delta": parameters["delta"], "is_cache_inverse_and_speed": False}
    with contextlib.redirect_stdout(io.StringIO()):
        THEIRS["coord"](config).train()


if __name__ == "__main__":
    serve_declared("fdml", declare, run)
