"""The shipped vectors, read once."""

from __future__ import annotations

import pytest

from tools.golden_vectors.writing import generated
from verification.vectors import model
from verification.vectors.files import load_all


@pytest.fixture(scope="session")
def files() -> list[model.VectorFile]:
    return load_all()


@pytest.fixture(scope="session")
def cases(files: list[model.VectorFile]) -> list[model.Case]:
    """Those of the paper's two algorithms; the baselines have tests of their own."""
    return [case for file in files if file.version == 1 for case in file.cases]


@pytest.fixture(scope="session")
def valid(cases: list[model.Case]) -> list[model.Case]:
    return [case for case in cases if case.expected is not None]


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """What is generated now: computed once, as it takes seconds."""
    return generated()
