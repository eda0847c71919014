"""Start-up: a command loads only what it needs. Which modules are loaded is tested, for times move with the load."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpadmm import loaders, training
from dpadmm.cli import SUBCOMMANDS, train
from reference.losses import LOSSES
from reference.mpadmm import Release
from reference.outputs import Output

HEAVY = ("numpy", "scipy", "pydantic", "matplotlib", "pandas", "sklearn", "flint", "mpmath", "importlib.metadata")
LISTING = """
import sys
from dpadmm.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print("LOADED", *(name for name in {heavy!r} if name in sys.modules))
"""


def loaded_by(*arguments: str) -> set[str]:
    """Return the heavy modules that a command has loaded when it ends."""
    program = LISTING.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "LOADED"
    return set(last[1:])


def test_the_help_of_the_program_loads_nothing_heavy() -> None:
    assert loaded_by("--help") == set()


ALLOWED = {"account": {"flint"}, "calibrate": {"flint"}}


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_the_help_of_a_command_loads_no_more_than_its_options_need(name: str) -> None:
    assert loaded_by(name, "--help") <= ALLOWED.get(name, set())


def test_the_words_of_train_are_those_of_the_code() -> None:
    assert tuple(algorithm.value for algorithm in training.ALGORITHMS) == train.ALGORITHMS
    assert tuple(LOSSES) == train.LOSSES
    assert tuple(training.REGULARIZERS) == train.REGULARIZERS
    assert tuple(training.SCHEDULES) == train.SCHEDULES
    assert tuple(release.value for release in Release) == train.RELEASES
    assert tuple(sampling.value for sampling in training.SAMPLINGS) == train.SAMPLINGS
    assert (training.AUTO, *(output.value for output in Output)) == train.OUTPUTS
    assert train.FORMATS == loaders.FORMATS


def test_a_gaussian_price_needs_balls_alone() -> None:
    plain = ("account", "gaussian", "--noise-multiplier", "2", "--iterations", "3", "--delta", "1e-5")
    assert loaded_by(*plain) == {"flint"}
    assert loaded_by(*plain, "--format", "json") == {"flint"}
    assert loaded_by(*plain, "--rdp", "2,4") == {"flint"}


def test_a_composed_price_needs_arrays_and_no_special_functions() -> None:
    loaded = loaded_by(
        *("account", "ssadmm", "--records", "500", "--batch", "5", "--noise-multiplier", "2"),
        *("--iterations", "20", "--delta", "1e-5"),
    )
    assert loaded == {"flint", "numpy"}
