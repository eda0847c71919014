"""What the tests of the command line and of the classifiers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpadmm.loaders import load_libsvm
from reference.dataset import Dataset
from tests.conftest import ADULT_FEATURES
from tests.dpadmm.in_process import CommandLine


@pytest.fixture
def dpadmm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


@pytest.fixture(scope="session")
def adult_parts(adult_files: list[Path]) -> tuple[Dataset, Dataset]:
    """Adult as it was published: 32,561 records to train on, 16,281 to test with, as they stand in the files."""
    parts = [load_libsvm(file, features=ADULT_FEATURES) for file in adult_files]
    first, second = (Dataset.of(part.features, part.labels) for part in parts)
    return first, second
