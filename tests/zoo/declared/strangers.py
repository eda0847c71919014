"""Mechanisms of other shapes than the examples: what a stranger might declare, honest and wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from verification.served.declared import Declare, DeclaredRun, RunOnce
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

SIGMA, GRID, STEPS = 0.5, 1 / 64, 3
Gradient = Callable[[Records, Floats], Floats]
Release = Callable[[DeclaredRun, Floats, Records, "dict[str, Floats]"], Floats]


@dataclass(frozen=True, slots=True)
class Stranger:
    """What is declared, what is run, and which check finds what is wrong; empty for an honest one."""

    declare: Declare
    run: RunOnce
    found_by: str = ""


def gaussian(name: str, sensitivity: float, **more: object) -> dict[str, object]:
    return {"name": name, "noise": "gaussian", "scale": SIGMA, "sensitivity": sensitivity, "norm": "l2", **more}


def told(value: Mapping[str, object], *others: Mapping[str, object], **fields: object) -> dict[str, object]:
    common = {"neighbours": "replace-one", "bound": {"kind": "clip", "radius": 1.0}, "iterations": STEPS}
    return {**common, "values": [value, *others], **fields}


def each(data: Records, x: Floats, clip: float = 1.0) -> Floats:
    """Every record's gradient of the logistic loss, scaled down to a norm."""
    margins = np.clip(data.labels * (data.features @ x), -700.0, 700.0)
    rows = -(data.labels / (1.0 + np.exp(margins)))[:, None] * data.features
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    clipped: Floats = rows * np.minimum(1.0, clip / np.maximum(lengths, 1e-300))
    return clipped


def mean(data: Records, x: Floats) -> Floats:
    found: Floats = each(data, x).mean(axis=0)
    return found


def plain(run: DeclaredRun, before: Floats, _data: Records, _state: dict[str, Floats]) -> Floats:
    return run.release("gradient", before, run.gaussian(before.shape, SIGMA))


def descent(gradient: Gradient = mean, release: Release = plain, found_by: str = "", **fields: object) -> Stranger:
    """Gradient descent with noise on every gradient."""

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> Mapping[str, object]:
        model = {"name": "model", "noise": "none", "from": ["gradient"]}
        return told(gaussian("gradient", 2.0 / records), model, **fields)

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x, state = np.zeros(data.features.shape[1]), dict[str, Floats]()
        for _ in range(STEPS):
            x = x - 0.5 * release(run, gradient(data, x), data, state)
            run.processed("model", x)

    return Stranger(declare, run, found_by)


def with_noise(make: Callable[[Floats, dict[str, Floats]], Floats]) -> Release:
    def release(run: DeclaredRun, before: Floats, _data: Records, state: dict[str, Floats]) -> Floats:
        return run.release("gradient", before, make(run.gaussian(before.shape, SIGMA), state))

    return release


def leaving(make: Callable[[Floats, Floats], Floats]) -> Release:
    """What leaves is a function of value and noise."""

    def release(run: DeclaredRun, before: Floats, _data: Records, _state: dict[str, Floats]) -> Floats:
        noise = run.gaussian(before.shape, SIGMA)
        return run.release("gradient", before, noise, make(before, noise))

    return release


def scaled_by_balance(run: DeclaredRun, before: Floats, data: Records, _state: dict[str, Floats]) -> Floats:
    scale = SIGMA * (1.0 + 10.0 * abs(float(data.labels.mean())))
    return run.release("gradient", before, run.gaussian(before.shape, scale))


def telescoping(noise: Floats, state: dict[str, Floats]) -> Floats:
    last, state["last"] = state.get("last", np.zeros_like(noise)), noise
    return noise - last


def recurrent(noise: Floats, state: dict[str, Floats]) -> Floats:
    state["last"] = 0.8 * state["last"] + 0.6 * noise if "last" in state else noise
    return state["last"]


def single(before: Floats, noise: Floats) -> Floats:
    return (before.astype(np.float32) + noise.astype(np.float32)).astype(np.float64)


def median_clip(data: Records, x: Floats) -> Floats:
    lengths = np.linalg.norm(each(data, x, math.inf), axis=1)
    found: Floats = each(data, x, min(1.0, float(np.median(lengths)))).mean(axis=0)
    return found


def scaled_features(data: Records, x: Floats) -> Floats:
    largest = max(1e-9, float(np.abs(data.features).max()))
    return mean(Records(data.features / largest, data.labels), x)


def clipped_coordinates(data: Records, x: Floats) -> Floats:
    found: Floats = np.clip(each(data, x, math.inf), -1.0, 1.0).mean(axis=0)
    return found


def large_ones_left_out(data: Records, x: Floats) -> Floats:
    rows = each(data, x, math.inf)
    kept = rows[np.linalg.norm(rows, axis=1) <= 1.0]
    return np.asarray(kept.mean(axis=0)) if len(kept) else np.zeros_like(x)


def intercept(place: int, *, clip: float = 10.0) -> RunOnce:
    """Rows are scaled to norm 1, and a column of ones is added afterwards, at a place; the clip may allow for it."""

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        lengths = np.maximum(np.linalg.norm(data.features, axis=1, keepdims=True), 1.0)
        column = data.features.shape[1] if place else 0
        points = Records(np.insert(data.features / lengths, column, 1.0, axis=1), data.labels)
        x = np.zeros(points.features.shape[1])
        for _ in range(STEPS):
            before: Floats = each(points, x, clip).mean(axis=0)
            x = x - 0.5 * run.release("gradient", before, run.gaussian(len(x), SIGMA))
            run.processed("model", x)

    return run


def discrete(*, rounded: bool) -> Stranger:
    """Discrete Gaussian noise on gradients that are multiples of the grid, or are not."""

    def declare(_parameters: OpaqueParameters, records: int, columns: int) -> Mapping[str, object]:
        sensitivity = 2.0 / records + GRID * math.sqrt(columns)
        return told(gaussian("gradient", sensitivity, noise="discrete-gaussian", grid=GRID))

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        places = np.arange(-600, 601)
        weights = np.exp(-((places * GRID / SIGMA) ** 2) / 2)
        x = np.zeros(data.features.shape[1])
        for _ in range(STEPS):
            before = np.rint(mean(data, x) / GRID) * GRID if rounded else mean(data, x)
            rng = np.random.default_rng(abs(hash(run.gaussian(4, 1.0).tobytes())))
            noise = rng.choice(places, size=len(x), p=weights / weights.sum()) * GRID
            x = 0.9 * x - run.release("gradient", before, noise)

    return Stranger(declare, run, "" if rounded else "sensitivity")


def best_on_loss(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    """The model of the least training loss is returned: chosen by the records themselves."""
    x, seen = np.zeros(data.features.shape[1]), []
    for _ in range(STEPS):
        x = x - 0.5 * run.release("gradient", mean(data, x), run.gaussian(len(x), SIGMA))
        margins = np.clip(data.labels * (data.features @ x), -700.0, 700.0)
        seen.append((float(np.logaddexp(0.0, -margins).mean()), x))
    run.processed("model", min(seen, key=lambda pair: pair[0])[1])


def chosen(_parameters: OpaqueParameters, records: int, _columns: int) -> Mapping[str, object]:
    model = {"name": "model", "noise": "none", "from": ["gradient"], "count": 1}
    return told(gaussian("gradient", 2.0 / records), model)


def classes(*, whole: bool) -> Stranger:
    """Squared loss of three classes: the gradient is a matrix, clipped as a whole or class by class."""

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        w, targets = np.zeros((data.features.shape[1], 3)), np.eye(3)[((data.labels + 1) * 1.49).astype(int)]
        for _ in range(STEPS):
            rows = data.features[:, :, None] * (data.features @ w - targets)[:, None, :]
            lengths = np.sqrt(np.sum(rows**2, axis=(1, 2) if whole else 1, keepdims=True))
            before: Floats = (rows * np.minimum(1.0, 1.0 / np.maximum(lengths, 1e-300))).mean(axis=0)
            w = w - 0.5 * run.release("gradient", before, run.gaussian(w.shape, SIGMA))
            run.processed("model", w)

    return Stranger(descent().declare, run, "" if whole else "sensitivity")


def penalty_from_released(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    """Residuals of released iterates choose the penalty: post-processing."""
    x, z, rho = np.zeros(data.features.shape[1]), np.zeros(data.features.shape[1]), 1.0
    for _ in range(STEPS):
        noisy = run.release("gradient", mean(data, x), run.gaussian(len(x), SIGMA))
        x = (rho * z + 2.0 * x - noisy) / (rho + 2.0)
        moved, z = z, np.sign(x) * np.maximum(np.abs(x) - 0.01, 0.0)
        rho = min(8.0, 2.0 * rho) if np.linalg.norm(x - z) > np.linalg.norm(z - moved) else max(0.5, 0.5 * rho)
        run.public("penalty", rho)
        run.processed("model", z)


HONEST: dict[str, Stranger] = {
    "descent": descent(),
    "rounded after its noise": descent(release=leaving(lambda b, n: np.round(b + n, 3))),
    "clamped after its noise": descent(release=leaving(lambda b, n: np.clip(b + n, -0.8, 0.8))),
    "released in single precision": descent(release=leaving(single)),
    "discrete noise on a grid": discrete(rounded=True),
    "three classes": classes(whole=True),
    "intercept first, within the clip": Stranger(descent().declare, intercept(0, clip=1.0)),
    "penalty from released values": Stranger(descent().declare, penalty_from_released),
}
WRONG: dict[str, Stranger] = {
    "noise cut off": descent(release=with_noise(lambda n, _: np.clip(n, -1.0, 1.0)), found_by="noise"),
    "noise of one sign": descent(release=with_noise(lambda n, _: np.abs(n)), found_by="noise"),
    "telescoping noise": descent(release=with_noise(telescoping), found_by="noise"),
    "recurrent noise": descent(release=with_noise(recurrent), found_by="noise"),
    "one number for all coordinates": descent(release=with_noise(lambda n, _: np.full_like(n, n[0])), found_by="noise"),
    "a fixed seed": descent(
        release=with_noise(lambda n, _: np.random.default_rng(3).normal(0.0, SIGMA, n.shape)), found_by="noise"
    ),
    "a little noise taken back": descent(release=leaving(lambda b, n: b + 0.97 * n), found_by="noise"),
    "scale by the balance of classes": descent(release=scaled_by_balance, found_by="data-independence"),
    "clipped at the median": descent(median_clip, found_by="sensitivity"),
    "features scaled by the largest": descent(scaled_features, found_by="sensitivity"),
    "coordinates clipped": descent(clipped_coordinates, found_by="sensitivity"),
    "large gradients left out": descent(large_ones_left_out, found_by="sensitivity"),
    "intercept after normalising": Stranger(descent().declare, intercept(-1), "sensitivity"),
    "intercept first, after normalising": Stranger(descent().declare, intercept(0), "sensitivity"),
    "discrete noise beside its grid": discrete(rounded=False),
    "classes clipped one by one": classes(whole=False),
    "the best model by training loss": Stranger(chosen, best_on_loss, "post-processing"),
}
