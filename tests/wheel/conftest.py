"""The wheel, built once, and an environment that holds it and its dependencies and nothing else."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel, and a folder far from the checkout."""

    environment: Path
    folder: Path

    def run(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``dpadmm`` or ``python`` of the environment, as its user would."""
        path = f"{self.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COVERAGE", "COV_"))}
        return subprocess.run(
            [str(self.environment / "bin" / command[0]), *command[1:]],
            cwd=cwd or self.folder,
            env=plain | {"PATH": path, "NO_COLOR": "1", "COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
        )


def crowd(folder: Path) -> None:
    """Files and folders of the user's that are called as our packages are; none of them may be run."""
    for name in ("reference.py", "audits.py", "accountant/__init__.py", "verification/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit('the user\\'s own')")


def build_wheel(folder: Path) -> Path:
    """The wheel, from a copy of what git knows: building must not leave anything in the checkout."""
    source = folder / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("docs/", "tests/")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    made = [sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source)]
    subprocess.run(made, check=True)
    return next(folder.glob("dpadmm-*.whl"))


def make_environment(folder: Path, *extras: str) -> Path:
    """An environment of its own: no packages of the system, no extras but those that are named."""
    environment = folder / "-".join(("environment", *extras))
    if not (environment / "done").exists():
        wheel = next(folder.glob("dpadmm-*.whl"), None) or build_wheel(folder)
        venv.create(environment, with_pip=True, clear=True)
        python = str(environment / "bin" / "python")
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        constraint = ["-c", str(_pins(folder))]
        subprocess.run([python, *PIP, "install", "--prefer-binary", *constraint, wanted], check=True)
        (environment / "done").touch()
    return environment


def _pins(folder: Path) -> Path:
    """The versions of requirements/dev.lock, without hashes (the wheel has none)."""
    lines = (ROOT / "requirements" / "dev.lock").read_text("utf-8").splitlines()
    pins = folder / "pins.txt"
    pins.write_text("".join(line.rstrip(" \\") + "\n" for line in lines if "==" in line and not line.startswith("#")))
    return pins


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "wheel"
    folder.mkdir(exist_ok=True)
    return folder


def _locked(shared: Path, *extras: str) -> Path:
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_environment(shared, *extras)


@pytest.fixture
def bare(shared: Path, tmp_path: Path) -> Installed:
    """The wheel without extras."""
    return Installed(_locked(shared), tmp_path)


@pytest.fixture
def with_sklearn(shared: Path, tmp_path: Path) -> Installed:
    """The wheel with the extra for scikit-learn."""
    return Installed(_locked(shared, "sklearn"), tmp_path)
