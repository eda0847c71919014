from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["ssadmm", "mpadmm", "vectorised", "outputs", "discrete_gaussian", "regularizers"])
def test_the_reference_loads_numpy_and_nothing_else(module: str) -> None:
    code = (
        f"import sys, reference.{module}\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'scipy', 'mpmath', 'flint', 'z3', 'sklearn', 'pydantic', 'click', 'accountant', 'dpadmm'}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []


def test_the_check_would_see_another_number_system() -> None:
    code = (
        "import sys; from reference.arithmetic import digits; digits(30); "
        "print('mpmath' in sys.modules, 'flint' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == (
        "True False\n"
    )


def test_asking_for_a_number_system_twice_works_whatever_was_imported_first() -> None:
    code = (
        "import reference.arithmetic.in_balls, reference.arithmetic.in_digits, reference.arithmetic.in_symbols\n"
        "from reference.arithmetic import balls, digits, symbols\n"
        "print(balls().name, digits(60).name, symbols().name, balls().name)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "balls 60 digits symbols balls\n"
