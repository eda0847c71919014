"""The peers' own training loops, each as a function from a seed to a linear model (rows of length 1, no extra bias)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Vector
from reference.dataset import Dataset

Train = Callable[[int], Vector]


@dataclass(frozen=True, slots=True)
class Steps:
    """A run of DP-SGD: expected batch, number of steps, first step size (falling by the epoch), opacus's accountant.

    Its "rdp" has no orders above 63 and so refuses epsilon 0.1 at delta 1e-6; "prv" does not.
    """

    batch: int
    count: int
    eta: float
    accountant: str = "rdp"


def opacus(training: Dataset, epsilon: float, delta: float, steps: Steps) -> tuple[Train, float]:
    """DP-SGD of a linear model: Poisson batches, gradients clipped to 1, noise from its own accountant; its seconds.

    The target is for add-or-remove-one neighbours: weaker than replace-one at the same epsilon.
    """
    import torch
    from opacus import PrivacyEngine
    from opacus.accountants.utils import get_noise_multiplier

    n = training.records
    torch.set_num_threads(1)
    features = torch.tensor(training.features, dtype=torch.float32)
    targets = torch.tensor((training.labels + 1) / 2, dtype=torch.float32)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        multiplier = get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=delta,
            sample_rate=steps.batch / n,
            steps=steps.count,
            accountant=steps.accountant,
        )
    calibration = time.process_time() - start

    def train(seed: int) -> Vector:
        torch.manual_seed(seed)
        model = torch.nn.Linear(training.dimension, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=steps.eta)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(features, targets), batch_size=steps.batch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            private, noisy, batches = PrivacyEngine(accountant=steps.accountant).make_private(
                module=model,
                optimizer=optimizer,
                data_loader=loader,
                noise_multiplier=multiplier,
                max_grad_norm=1.0,
            )
            done = 0
            while done < steps.count:
                for rows, labels in batches:
                    for group in noisy.param_groups:
                        group["lr"] = steps.eta / (1 + done * steps.batch // n)
                    noisy.zero_grad()
                    if len(rows):
                        loss = torch.nn.functional.binary_cross_entropy_with_logits(private(rows)[:, 0], labels)
                        loss.backward()
                        noisy.step()
                    done += 1
                    if done == steps.count:
                        break
        return np.asarray(model.weight.detach().numpy()[0], dtype=np.float64)

    return train, calibration


def diffprivlib(training: Dataset, epsilon: float) -> Train:
    """L2-regularised logistic regression by objective perturbation, pure epsilon; defaults but for the norm bound."""
    from diffprivlib.models import LogisticRegression

    def train(seed: int) -> Vector:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegression(epsilon=epsilon, data_norm=1.0, fit_intercept=False, random_state=seed)
            # Rows normalised in binary64 may exceed 1 by an ulp, which the library would clip with a warning.
            model.fit(training.features * (1 - 1e-12), training.labels)
        return np.asarray(model.coef_[0], dtype=np.float64)

    return train
