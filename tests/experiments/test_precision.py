"""Single precision in the gradients of a study changes its models by rounding alone, far below the noise."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import loops, metrics
from experiments.cells import CellTable, Rows
from experiments.data import prepared
from experiments.runner import signed_rows
from experiments.synthetic import simulate
from reference.arithmetic import Matrix
from reference.baselines.objp import perturbations
from reference.losses import LOSSES
from reference.randomness import Seeded

SIGNED = signed_rows(prepared(simulate(4, 4000), "none"))
SINGLE = SIGNED.astype(np.float32)
P = SIGNED.shape[1]
T = 40
NOISE = 0.05  # the least noise of a study is about this much a coordinate
# A gradient off by 2^-23 or so, forty iterations of gain at most 4: measured 2e-7, the noise is 1e5 times as large.
ROUNDING = 5e-6

CELLS = CellTable.of(["logistic", "logistic", "huber"], [1e-4, 1e-3, 1e-3], [NOISE, 2 * NOISE, NOISE])


def trained(signed: Rows) -> dict[str, Matrix]:
    """Every loop on the same draws."""
    etas, batches = [1.0] * T, list(Seeded(5).batches(len(SIGNED), 60, T))
    draws, triples = list(Seeded(5).noise(P, 1.0, T)), list(Seeded(5).noise(3 * P, 1.0, T))
    pairs = [draw[: 2 * P].reshape(2, P) for draw in triples]
    objp = list(perturbations(Seeded(5), P, 1.0, 3))
    return {
        "ssadmm": loops.ssadmm(signed, CELLS, rho=0.25, etas=etas, batches=batches, draws=draws),
        "dpsgd": loops.dpsgd(signed, CELLS, etas=etas, batches=batches, draws=draws),
        "mpadmm": loops.mpadmm(signed, CELLS, rho=0.5, eta=4.0, draws=triples, primal_only=False),
        "dpadmm": loops.dpadmm(signed, CELLS, parties=2, rho=0.1, eta=4.0, draws=pairs),
        "objp": loops.objp(signed, CELLS, rho=0.05, inner_steps=20, perturbations=objp)[0],
        "dpsvrg": loops.dpsvrg(
            signed, CELLS, eta=0.5, inner=T // 2, anchor_draws=draws[:2], batches=batches, draws=draws
        ),
    }


def test_models_of_every_algorithm_agree_to_rounding() -> None:
    double, single = trained(SIGNED), trained(SINGLE)
    for name, models in double.items():
        assert models.dtype == single[name].dtype == np.float64
        np.testing.assert_allclose(single[name], models, rtol=0, atol=ROUNDING, err_msg=name)
        np.testing.assert_allclose(metrics.accuracy(SIGNED, single[name]), metrics.accuracy(SIGNED, models), atol=1e-3)
        assert np.abs(models).max() > 0.1, name


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("signed", [SIGNED, SINGLE], ids=["double", "single"])
def test_slopes_in_place_are_those_of_the_reference_at_every_margin(loss: str, signed: Rows) -> None:
    margins = np.array([-1e30, -800.0, -90.0, -2.0, -1e-9, 0.0, 1e-9, 0.7, 40.0, 90.0, 800.0, 1e30])
    single = signed.dtype == np.float32
    rows = np.eye(len(margins), dtype=np.float32) if single else np.eye(len(margins))
    g = CellTable.of([loss], [1e-3], [0.0]).full_gradient(rows, margins[None, :])[0] * len(margins)
    # A slope below the smallest normal number counts as 0.
    rtol, atol = (5e-7, 1e-37) if single else (1e-15, 1e-307)
    np.testing.assert_allclose(g, LOSSES[loss].slope(margins), rtol=rtol, atol=atol)
