"""What every test shares: hypothesis without chance, and the Adult data where they are at hand."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from accountant import pricing
from reference.dataset import Dataset

# Derandomised: the same examples in every run, so that no test fails by chance. No deadline: the machine is shared.
settings.register_profile(
    "dpadmm", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dpadmm")

ADULT_FEATURES = 123


@pytest.fixture(autouse=True)
def quick_prices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the slow methods out of effort "standard", but in tests that ask for them: they take seconds a price."""
    if "standard_effort" not in request.keywords:
        monkeypatch.setattr(pricing, "STANDARD_SECONDS", 0.0)


@pytest.fixture(scope="session")
def adult_files() -> list[Path]:
    """The two LIBSVM files of Adult, packed; skips where they are absent."""
    folder = Path(os.environ.get("DPADMM_DATA") or Path(__file__).parents[2] / "shared" / "data")
    files = [folder / "a9a.xz", folder / "a9a.t.xz"]
    if not all(file.is_file() for file in files):
        pytest.skip("the Adult data are not here; say where with DPADMM_DATA")
    return files


@pytest.fixture(scope="session")
def adult(adult_files: list[Path]) -> Dataset:
    """All 48,842 records: ones column first, then rows divided by their norm."""
    rows = [line.split() for file in adult_files for line in lzma.decompress(file.read_bytes()).splitlines()]
    features = np.zeros((len(rows), ADULT_FEATURES))
    for row, (_, *pairs) in enumerate(rows):
        columns = [int(pair.partition(b":")[0]) - 1 for pair in pairs]
        features[row, columns] = [float(pair.partition(b":")[2]) for pair in pairs]
    return Dataset.of(features, [float(label) for label, *_ in rows]).with_intercept().normalised()
