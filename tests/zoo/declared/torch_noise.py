"""Noise of torch, observed: run by an interpreter that has torch, prints what was noticed twice with one seed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
import torch

from verification.served.declared import DeclaredRun
from verification.served.observed import WATCHED, observe, watching
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records


def released(value: torch.Tensor) -> torch.Tensor:
    """The value with noise of deviation about 0.5, drawn and added in one of many ways."""
    one, how = torch.ones(3, dtype=torch.float64), sys.argv[1]
    apart = torch.empty(3, dtype=torch.float64)
    forms: dict[str, Callable[[], torch.Tensor]] = {
        "in-place": lambda: value.add_(0.5 * torch.normal(0.0, 1.0, (3,), dtype=torch.float64)),
        "apart": lambda: value + torch.normal(0.0, 1.0, (1, 3), dtype=torch.float64).flatten().view(3).clone() / 2,
        "randn": lambda: 0.5 * torch.randn(3, dtype=torch.float64) + value,
        "randn_like": lambda: value + torch.randn_like(value).mul_(0.5),
        "normal_": lambda: value + torch.empty_like(value).normal_(0.0, 0.5),
        "dropped": lambda: (apart.normal_(0.0, 0.5), value + apart)[1],
        "alpha": lambda: torch.add(value, torch.randn(3, dtype=torch.float64), alpha=0.5),
        "sub": lambda: value - 0.5 * torch.randn(3, dtype=torch.float64),
        "Normal": lambda: value + torch.distributions.Normal(0 * one, 0.5 * one).sample(),
        "Laplace": lambda: value + torch.distributions.Laplace(0 * one, 0.5 * one).sample(),
        "rsample": lambda: value + torch.distributions.Normal(0 * one, 0.5 * one).rsample(),
        "cat": lambda: value + torch.cat([torch.randn(1, dtype=torch.float64) / 2 for _ in range(3)]),
        "stack": lambda: value + torch.stack([torch.randn(3, dtype=torch.float64) for _ in range(4)]).mean(dim=0),
        "matmul": lambda: value + torch.eye(3, dtype=torch.float64) @ torch.randn(3, dtype=torch.float64) / 2,
        "around": lambda: torch.normal(value, 0.5 * one),
        "around-law": lambda: torch.distributions.Laplace(value, 0.5 * one).sample(),
    }
    return forms[how]()


def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
    """A mean with noise of torch."""
    found = released(torch.as_tensor(features.mean(axis=0)))
    assert type(found) is torch.Tensor
    array: Floats = found.numpy()
    return array


def once() -> list[list[float]]:
    """What was there before the noise, and the noise."""
    run = DeclaredRun([1])
    with watching(run, dict.fromkeys(WATCHED, "mean"), train):
        observe(train, Records(np.eye(3), np.ones(3)), {}, run)
    ((_, before, noise),) = run.shown("mean")
    return [np.asarray(before).tolist(), np.asarray(noise).tolist()]


if __name__ == "__main__":
    print(json.dumps([once(), once()]))
