"""The type checker keeps binary floats out of the accountant."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy import api

pytestmark = pytest.mark.slow  # mypy without its cache
ROOT = Path(__file__).resolve().parents[2]
LEAKS = {
    "mpf from a float": "CONTEXT.mpf(0.1)",
    "mpf times a float": "CONTEXT.mpf(1) * 0.1",
    "a float times mpf": "0.1 * CONTEXT.mpf(1)",
    "mpf plus a float": "CONTEXT.mpf(1) + 0.5",
    "a float minus mpf": "0.5 - CONTEXT.mpf(1)",
    "mpf divided by a float": "CONTEXT.mpf(1) / 2.0",
    "mpf to a float power": "CONTEXT.mpf(2) ** 0.5",
    "mpf compared with a float": "CONTEXT.mpf(2) < 0.5",
    "log of a float": "CONTEXT.log(0.1)",
    "a float of an mpf, rounded who knows where": "float(CONTEXT.mpf(1))",
    "an end of a bound that is a float": "Bound(0.0, CONTEXT.mpf(1))",
    "the class itself": "mpf(0.1)",
}
FINE = ["CONTEXT.mpf(1) * 2", "CONTEXT.mpf('0.1') / 3", "CONTEXT.log(CONTEXT.mpf(2)) < 1", "mpf(1) + mpf('0.1')"]
HEADER = "from mpmath import mpf\nfrom accountant.numbers import CONTEXT, Bound\n"


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """mypy --strict on one snippet a line, run once: line number to complaint."""
    folder = tmp_path_factory.mktemp("snippets")
    lines = [*LEAKS.values(), *FINE]
    (folder / "snippets.py").write_text(
        HEADER + "\n".join(f"value_{i} = {line}" for i, line in enumerate(lines)) + "\n"
    )
    config = str(ROOT / "pyproject.toml")
    arguments = ["--strict", "--config-file", config, str(folder / "snippets.py")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        out, err, _ = api.run(arguments)
    assert not err, err
    found = {}
    for line in out.splitlines():
        parts = line.split(":", 2)
        if parts[0].endswith("snippets.py") and " error: " in line:
            found[int(parts[1]) - len(HEADER.splitlines()) - 1] = parts[2]
    return found


@pytest.mark.parametrize("index", range(len(LEAKS)), ids=list(LEAKS))
def test_a_leaking_float_is_a_type_error(complaints: dict[int, str], index: int) -> None:
    assert index in complaints


@pytest.mark.parametrize("index", range(len(LEAKS), len(LEAKS) + len(FINE)), ids=FINE)
def test_exact_arithmetic_is_not(complaints: dict[int, str], index: int) -> None:
    assert index not in complaints
