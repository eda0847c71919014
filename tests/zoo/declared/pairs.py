"""Mistakes by name, each beside an honest twin that is one step away: the same declaration, another line of the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from tests.zoo.declared.strangers import (
    SIGMA,
    STEPS,
    Stranger,
    descent,
    each,
    gaussian,
    leaving,
    mean,
    told,
    with_noise,
)
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

_SETTINGS = {"noise_multiplier": SIGMA}
_PUBLIC_SEED = 7


def composed(share: float, found_by: str = "") -> Stranger:
    """K releases, priced as one of deviation SIGMA: honest is K times its variance in each, wrong a K-th of it."""

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> Mapping[str, object]:
        return told(gaussian("gradient", 2.0 / records, scale=SIGMA * math.sqrt(STEPS)))

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x = np.zeros(data.features.shape[1])
        for _ in range(STEPS):
            before = mean(data, x)
            x = x - 0.5 * run.release("gradient", before, run.gaussian(before.shape, SIGMA * math.sqrt(share)))

    return Stranger(declare, run, found_by)


def projected(*, noisy: bool) -> Stranger:
    """A random projection whose seed is public; noise in place of it, or after it."""

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        p = data.features.shape[1]
        turned = np.linalg.qr(np.random.default_rng(_PUBLIC_SEED).standard_normal((p, p)))[0]
        for _ in range(STEPS):
            before: Floats = turned @ mean(data, np.zeros(p))
            run.release("gradient", before, run.gaussian(p, SIGMA) if noisy else np.zeros(p))

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> Mapping[str, object]:
        return told(gaussian("gradient", 2.0 / records))

    return Stranger(declare, run, "" if noisy else "noise")


def by_hand(clip: float, found_by: str = "") -> Stranger:
    """The sensitivity is a constant that a user sets, 2/n; the clip is another option."""
    return descent(lambda data, x: np.asarray(each(data, x, clip).mean(axis=0)), found_by=found_by)


def scaled(factor: Callable[[Floats], Floats], found_by: str = "") -> Stranger:
    """Every gradient times a function of its norm."""

    def gradient(data: Records, x: Floats) -> Floats:
        rows = each(data, x, math.inf)
        found: Floats = (rows * factor(np.linalg.norm(rows, axis=1, keepdims=True))).mean(axis=0)
        return found

    return descent(gradient, found_by=found_by)


def configured(key: str, found_by: str = "") -> Stranger:
    """The deviation comes from a table of settings; a key that is not there means no noise."""
    scale = _SETTINGS.get(key, 0.0) / SIGMA
    return descent(release=with_noise(lambda noise, _: scale * noise), found_by=found_by)


def batch_clipped(data: Records, x: Floats) -> Floats:
    whole: Floats = each(data, x, math.inf).mean(axis=0)
    return whole / max(1.0, float(np.linalg.norm(whole)))


PAIRS: dict[str, tuple[Stranger, Stranger]] = {
    "composition inverted: sigma^2/K in each of K": (composed(1 / STEPS, "noise"), composed(STEPS)),
    "noise subtracted before release": (
        descent(release=leaving(lambda before, noise: (before + noise) - noise), found_by="noise"),
        descent(release=leaving(lambda before, noise: (before + 2 * noise) - noise)),
    ),
    "projection with a public seed in place of noise": (projected(noisy=False), projected(noisy=True)),
    "sensitivity set by hand, unrelated to the clip": (by_hand(4.0, "sensitivity"), by_hand(0.9)),
    "clip that multiplies by min(C, norm)": (
        scaled(lambda norms: np.minimum(1.0, norms), "sensitivity"),
        scaled(lambda norms: np.minimum(1.0, 1.0 / np.maximum(norms, 1e-300))),
    ),
    "misspelt key leaves the noise off": (configured("noise_multplier", "noise"), configured("noise_multiplier")),
    "clip of the batch instead of each sample": (descent(batch_clipped, found_by="sensitivity"), descent()),
}
"""Wrong, honest. Half of twice the noise subtracted leaves it as declared; a clip below the hand-set bound keeps it."""
