r"""DP-SVRG: x+ = prox(x - eta (change over a batch since the anchor + noise + noisy full gradient)).

The noisy full gradient is part of what the claim covers. Where it is released both noises can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.baselines.dpsgd import proximal_step
from reference.gradients import full_gradients
from reference.problem import Problem
from verification.conformance.check import NotApplicable
from verification.conformance.inside.base import Pair, common_gradients, one_hot_gradients, with_count
from verification.conformance.inside.proximal import InsideProximal
from verification.served.serve import Values
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Run


class InsideSvrg(InsideProximal):
    """DP-SVRG."""

    __slots__ = ()

    def anchors(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """The anchor of each iteration: x at the beginning of its epoch; [count, T, p]."""
        x = self.shifted(parameters, problem, "x", run.x)
        inner = parameters.inner or 1
        return np.repeat(x[:, ::inner], inner, axis=1)

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """The change over the batch, noise included."""
        return super().batch_gradients(parameters, problem, run) - _full(run)

    def counts(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """Only behind the first step of an epoch, in which nothing has changed since the anchor."""
        x, anchors = self.shifted(parameters, problem, "x", run.x), self.anchors(parameters, problem, run)
        later = [k for k in range(parameters.iterations) if k % (parameters.inner or 1)]
        changes = one_hot_gradients(problem, x) - one_hot_gradients(problem, anchors)
        if not later or not np.all(changes[:, later]):
            raise NotApplicable("batches show where gradients have changed since the anchor, and here they have not")
        size = float(parameters.batch or problem.records)
        weights: Floats = self.batch_gradients(parameters, problem, run)[:, later] / changes[:, later] * size
        return weights

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """On the full gradients, and on the changes."""
        x, anchors = self.shifted(parameters, problem, "x", run.x), self.anchors(parameters, problem, run)
        change = common_gradients(problem, parameters.batch, x) - common_gradients(problem, parameters.batch, anchors)
        inner = parameters.inner or 1
        first = anchors[:, ::inner]
        full = full_gradients(problem, first.reshape(-1, problem.dimension)).reshape(first.shape)
        return {
            "anchor": _full(run)[:, ::inner] - full,
            "gradient": self.batch_gradients(parameters, problem, run) - change,
        }

    def expected(
        self,
        parameters: Parameters,
        problem: Problem,
        run: Run,
        noise: Values,
        batches: Sequence[Sequence[int]] | None,
    ) -> Values:
        """From the implementation's own x, anchor and full gradient."""
        alone = with_count(run)
        x, anchors = (
            part[0]
            for part in (self.shifted(parameters, problem, "x", alone.x), self.anchors(parameters, problem, alone))
        )
        inner, fulls, xs = parameters.inner or 1, [], []
        for k, eta in enumerate(parameters.eta):
            batch = np.array(range(parameters.batch or 0) if batches is None else batches[k], dtype=np.intp)
            fulls.append(problem.gradient(anchors[k]) + noise["anchor"][k // inner])
            change = problem.gradient(x[k], batch) - problem.gradient(anchors[k], batch)
            used = run.values.get("full_gradient", np.array(fulls))[k]
            xs.append(proximal_step(problem, x[k], change + used + noise["gradient"][k], eta))
        return {"x": np.stack(xs), "full_gradient": np.stack(fulls)}

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statement DPSVRG: the first step of an epoch follows the full gradient alone, which moves by 2C/n."""
        whole = parameters.model_copy(update={"batch": records})
        return super().moves(whole, records) | {"full_gradient": 2 * parameters.bound / records}

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:
        """The full gradient first, where an epoch begins; then the step, whose full gradient is then the run's."""
        inner, (run, twin) = parameters.inner or 1, runs
        if k % inner == 0:
            moved = _full(run)[k] - _full(twin)[k]
            noise["anchor"][k // inner] += moved
            noise["gradient"][k] += (twin.x[k] - run.x[k]) / parameters.eta[k] - moved
            return
        super().couple(parameters, other, runs, noise, k)


def _full(run: Run) -> Floats:
    if "full_gradient" not in run.values:
        raise NotApplicable("the noisy full gradient is not released, so its noise cannot be told from the step's")
    return run.values["full_gradient"]
