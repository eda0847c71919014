"""Every command of the wheel works outside the checkout, or says which extra it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpadmm.cli import SUBCOMMANDS
from tests.wheel.conftest import Installed, crowd

pytestmark = pytest.mark.slow

SPHERE = "-1 1:1 2:2\n1 1:2 2:1\n" * 20
TRAIN = "train data.libsvm --out model --iterations 5 --sigma 1 --normalise"
WORK = {
    "account": "account gaussian --noise-multiplier 5 --iterations 1 --delta 1e-5",
    "calibrate": "calibrate gaussian --iterations 1 --epsilon 1 --delta 1e-5",
    "train": TRAIN,
    "vectors": "vectors list",
    "vectors check": "vectors check -- dpadmm adapter loopback",
    "adapter new": "adapter new --language python --directory .",
    "adapter smoke": "adapter smoke -- dpadmm adapter loopback",
    "adapter schema": "adapter schema",
    "gate --init": "gate --init",
    "explain": "explain E1",
}
NEEDS = {
    "verify": ("verify", "pip install 'dpadmm[proofs]'"),
    "vectors generate": ("vectors generate", "run this command in a checkout"),
    "account --plot": (f"{WORK['account']} --plot plot.svg", "pip install 'dpadmm[plots]'"),
    "gate --cluster": ("gate privacy-claim.toml --cluster tcp://localhost:1", "pip install 'dpadmm[cluster]'"),
}


def ready(installed: Installed) -> Installed:
    (installed.folder / "data.libsvm").write_text(SPHERE)
    return installed


@pytest.mark.parametrize("name", ["", *SUBCOMMANDS])
def test_every_help_is_printed(bare: Installed, name: str) -> None:
    done = bare.run("dpadmm", *name.split(), "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    assert "\\b" not in done.stdout


@pytest.mark.parametrize("name", WORK)
def test_the_commands_work(bare: Installed, name: str) -> None:
    done = ready(bare).run("dpadmm", *WORK[name].split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_an_extra_says_which(bare: Installed, name: str) -> None:
    bare.run("dpadmm", "gate", "--init")
    arguments, needed = NEEDS[name]
    done = bare.run("dpadmm", *arguments.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert needed in done.stderr
    assert "Traceback" not in done.stderr


def test_the_classifiers_say_which_extra_they_need(bare: Installed) -> None:
    done = bare.run("python", "-c", "import dpadmm; dpadmm.SsADMMClassifier")
    assert done.returncode == 1
    assert "needs scikit-learn: pip install 'dpadmm[sklearn]'" in done.stderr


def test_nothing_but_the_projects_packages_is_installed_at_top_level(bare: Installed) -> None:
    site = next((bare.environment / "lib").glob("python*/site-packages"))
    record = next(site.glob("dpadmm-*.dist-info")) / "RECORD"
    tops = {Path(line.split(",")[0]).parts[0] for line in record.read_text().splitlines()}
    ours = {top for top in tops if ".dist-info" not in top and top != ".."}
    assert ours == {"accountant", "audits", "dpadmm", "dpadmm_declaring", "reference", "verification"}


def test_a_folder_of_the_same_name_does_not_break_it(bare: Installed) -> None:
    crowd(bare.folder)
    for command in (("dpadmm",), ("python", "-m", "dpadmm")):
        done = bare.run(*command, *WORK["account"].split())
        assert done.returncode == 0, done.stderr
