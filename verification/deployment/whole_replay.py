"""A replay of the whole length on ordinary records: the noise that was given is what is added, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.gradients import batch_gradients
from verification.conformance.inside import INSIDE
from verification.conformance.inside.base import with_count
from verification.deployment.claimed import Claimed
from verification.deployment.sighting import Aspect, Cost, Sighting
from verification.served.serve import Values
from verification.served.translate import noise_scales, party_name, problem_of
from verification.wire.arrays import Floats
from verification.wire.records import Records, Run
from verification.wire.schemes import noised_names

_ADDED = 1e-3
_AGREES = 1e-2
_ROWS = 1 << 24


def inputs(claimed: Claimed, rng: np.random.Generator) -> tuple[Values, list[list[int]] | None]:
    """Noise of the claimed size, and fresh batches."""
    parameters, scheme = claimed.parameters, claimed.scheme
    scales = noise_scales(claimed.mode.algorithm, parameters, claimed.records)
    noise = {}
    for name in noised_names(claimed.mode.algorithm, parameters):
        shape = scheme.noise_shape(name, parameters, claimed.columns)
        scale = next(iter(scales.values())) if name not in scales else scales[name]
        noise[name] = rng.standard_normal(shape) * scale.reshape(-1, *[1] * (len(shape) - 1))
    if parameters.batch is None:
        return noise, None
    if parameters.batch == claimed.records:
        return noise, [list(range(claimed.records))] * parameters.iterations
    chosen = [rng.choice(claimed.records, parameters.batch, replace=False).tolist() for _ in parameters.eta]
    return noise, chosen


def replay_sightings(
    claimed: Claimed, records: Records, run: Run, noise: Values, batches: Sequence[Sequence[int]] | None
) -> list[Sighting]:
    """Compare step by step, from the implementation's own iterates."""
    found, given = _added(claimed, records, with_count(run), noise, batches)
    added, worst, where = 1.0, 0.0, ""
    for name, array in found.items():
        wanted = given[name]
        ratios = np.sum(array * wanted, axis=1) / np.sum(wanted**2, axis=1)
        if (abs(ratios - 1)).max() > abs(added - 1):
            added = float(ratios[np.argmax(np.abs(ratios - 1))])
        apart = np.linalg.norm(array - wanted, axis=1) / np.linalg.norm(wanted, axis=1)
        if apart.max() > worst:
            worst, where = float(apart.max()), f"{name} in iteration {int(np.argmax(apart)) + 1}"
    return [
        Sighting(
            "noise-added in a whole replay",
            Aspect.NOISE,
            0.0 if added < 1 - _ADDED and worst > _AGREES else 1.0,
            f"of the noise that was given, {added:.6g} was added where it differs most",
            cause="noise too small",
            deterministic=True,
        ),
        Sighting(
            "updates-agree in a whole replay",
            Aspect.UPDATES,
            0.0 if worst > _AGREES else 1.0,
            f"the updates are at most {worst:.3g} of the noise apart from the reference's ({where})",
            Cost.NOTHING,
            "another update",
            deterministic=True,
        ),
    ]


def _added(
    claimed: Claimed, records: Records, run: Run, noise: Values, batches: Sequence[Sequence[int]] | None
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """What the implementation added to what the reference computes, and what it was given; [draws, p] by stream."""
    parameters, inside = claimed.parameters, INSIDE[claimed.mode.algorithm]
    problem = problem_of(records, parameters)
    if claimed.mode.algorithm is Algorithm.DPADMM:
        seen = {name: array[0] for name, array in inside.noise(parameters, problem, run).items()}
        return seen, {party_name(i): noise["x"][:, i] for i in range(noise["x"].shape[1])}
    if batches is None or claimed.mode.algorithm is Algorithm.DPSVRG:
        seen = {name: array[0] for name, array in inside.noise(parameters, problem, run).items()}
        if batches is not None:
            del seen["gradient"]  # what a batch changed since the anchor is not recomputed here
        return seen, {name: noise[name] for name in seen}
    gradients = inside.batch_gradients(parameters, problem, run)[0]
    x = inside.previous(parameters, problem, run).x[0]
    chosen = np.array(batches, dtype=np.intp)
    rows = max(1, _ROWS // max(1, chosen.shape[1] * problem.dimension))
    clean = np.concatenate(
        [batch_gradients(problem, x[k : k + rows], chosen[k : k + rows]) for k in range(0, len(x), rows)]
    )
    return {"gradient": gradients - clean}, {"gradient": noise["gradient"]}
