"""Noise of torch, observed: run by an interpreter that has torch, prints what was noticed twice with one seed."""

from __future__ import annotations

import json
import sys

import numpy as np
import torch

from verification.served.declared import DeclaredRun
from verification.served.observed import observe, watching
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records


def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
    """A mean with noise of torch, added in place or not."""
    value = torch.as_tensor(features.mean(axis=0))
    drawn = 0.5 * torch.normal(0.0, 1.0, (3,), dtype=torch.float64)
    released: Floats = (value.add_(drawn) if "in-place" in sys.argv else value + drawn).numpy()
    return released


def once() -> list[list[float]]:
    """What was there before the noise, and the noise."""
    run = DeclaredRun([1])
    with watching(run, {"normal": "mean"}, train):
        observe(train, Records(np.eye(3), np.ones(3)), {}, run)
    ((_, before, noise),) = run.shown("mean")
    return [np.asarray(before).tolist(), np.asarray(noise).tolist()]


if __name__ == "__main__":
    print(json.dumps([once(), once()]))
