"""A user's folder with the name of one of our packages neither breaks the program nor is taken for ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("reference", "accountant", "verification", "audits", "experiments")
PRICE = ["account", "gaussian", "--noise-multiplier", "5", "--iterations", "1", "--delta", "1e-5"]


def run(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    # the project comes after the user's folder, as installed packages do
    inherited = os.pathsep.join(part for part in (path, str(ROOT)) if part)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": inherited},
        capture_output=True,
        text=True,
        check=False,
    )


def fill(folder: Path, kind: str) -> Path:
    for name in NAMES:
        if kind == "module":
            (folder / f"{name}.py").write_text("raise SystemExit('the user\\'s own')")
        else:
            (folder / name).mkdir()
        if kind == "package":
            (folder / name / "__init__.py").write_text("raise SystemExit('the user\\'s own')")
    return folder


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    return fill(tmp_path, "package")


@pytest.mark.parametrize("kind", ["package", "module", "plain folder"])
def test_python_m_dpadmm_loads_ours(tmp_path: Path, kind: str) -> None:
    done = run(fill(tmp_path, kind), "-m", "dpadmm", *PRICE)
    assert done.returncode == 0, done.stderr
    assert "epsilon" in done.stdout


def test_pythonpath_with_the_users_folder_loads_ours(crowded: Path) -> None:
    done = run(crowded, "-c", "from dpadmm.cli import main; main()", *PRICE, path=".")
    assert done.returncode == 0, done.stderr


def test_worker_processes_load_ours_too(crowded: Path) -> None:
    """A pool of spawned processes inherits the order in which packages are looked for."""
    script = crowded / "main.py"
    script.write_text(
        "import multiprocessing\n"
        "from dpadmm.own_packages import prefer_own\n"
        "if __name__ == '__main__':\n"
        "    prefer_own()\n"
        "    import accountant\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.apply(accountant.decimal_string, (accountant.exact('x', '2'), 3, 'up')))\n"
    )
    done = run(crowded, "main.py", path=".")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2")


def test_the_users_other_modules_can_still_be_imported(crowded: Path) -> None:
    (crowded / "helper.py").write_text("VALUE = 7")
    script = "from dpadmm.own_packages import prefer_own; prefer_own(); import helper, accountant; print(helper.VALUE)"
    assert run(crowded, "-c", script).stdout == "7\n"


LIBRARY = """
import numpy as np
import reference, audits
from dpadmm import SsADMMClassifier
from dpadmm.testing import assert_sensitivity
X = np.random.default_rng(0).normal(size=(60, 3))
X /= np.linalg.norm(X, axis=1, keepdims=True)
model = SsADMMClassifier(epsilon=1.0, delta=1e-3, clip=1.0, batch=20, iterations=4, random_state=0)
model.fit(X, np.where(X[:, 0] > 0, 1, -1))
assert_sensitivity(lambda features, labels: features.mean(axis=0), lambda n: 2 / n, max_examples=20)
print(reference.OWNER, audits.OWNER, model.coef_.shape)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["package", "module"])
def test_the_library_works_beside_the_users_modules(tmp_path: Path, kind: str) -> None:
    """There the process is the user's: their modules keep their names, and ours are found all the same."""
    for name in ("reference", "audits", "accountant", "verification"):
        place = tmp_path / name / "__init__.py" if kind == "package" else tmp_path / f"{name}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text("OWNER = 'the user'")
    done = run(tmp_path, "-c", LIBRARY)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the user the user (1, 3)\n"


def test_a_name_that_is_taken_already_is_refused_with_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "audits.py").write_text("")
    script = "import audits; from dpadmm.cli import main; main()"
    done = run(tmp_path, "-c", script, "--version")
    assert done.returncode == 2
    assert "hides dpadmm's own package 'audits'" in done.stderr
    assert "Traceback" not in done.stderr
