"""Skeletons from the wheel work far from the checkout: all are written, and filled ones are audited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.wire.test_skeletons import TOOLS, build, fill_in
from tests.wheel.conftest import Installed
from verification.wire import Face
from verification.wire.skeletons import FILE_NAMES, RUNS, Language, skeleton

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("face", list(Face))
def test_every_skeleton_is_in_the_wheel(bare: Installed, language: Language, face: Face, tmp_path: Path) -> None:
    done = bare.run("dpadmm", "adapter", "new", "--language", language, "--face", face, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / FILE_NAMES[language]).read_text(encoding="utf-8") == skeleton(language, face)


@pytest.mark.parametrize("language", [Language.PYTHON, Language.C, Language.JAVA])
def test_a_filled_declared_skeleton_stands_in_the_gate(bare: Installed, language: Language, tmp_path: Path) -> None:
    build(language, fill_in(language, Face.DECLARED), tmp_path)
    new = (
        "adapter",
        "new",
        "--language",
        language,
        "--face",
        "declared",
        "--force",
        "--directory",
        str(tmp_path / "new"),
    )
    assert bare.run("dpadmm", *new, cwd=tmp_path).returncode == 0
    claim = (tmp_path / "new" / "claim.toml").read_text(encoding="utf-8")
    (tmp_path / "claim.toml").write_text(claim, encoding="utf-8")
    done = bare.run("dpadmm", "gate", "claim.toml", "--seed", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("epsilon", "code"), [("0.5", 1), ("60", 0)])
def test_a_filled_black_box_is_audited(bare: Installed, epsilon: str, code: int, tmp_path: Path) -> None:
    build(Language.PYTHON, fill_in(Language.PYTHON, Face.BLACK_BOX), tmp_path)
    plan = f"--epsilon {epsilon} --delta 1e-5 --seed 1 --explore 100 --pairs 400 --detect-epsilon 100".split()
    done = bare.run("dpadmm", "audit", "--black-box", *plan, "--", *RUNS[Language.PYTHON].split(), cwd=tmp_path)
    assert done.returncode in ({code} if code else {0, 3}), done.stdout + done.stderr


def test_the_help_teaches_the_three_faces(bare: Installed) -> None:
    shown = bare.run("dpadmm", "adapter", "new", "--help").stdout
    assert all(f"\n    {face} " in shown for face in Face), shown
    assert set(TOOLS) == set(Language)
