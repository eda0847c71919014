"""Ports that read the files without this package pass, and broken copies of them do not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from verification.vectors.files import FOLDER, NAMES

PORTS = Path(__file__).parents[3] / "examples" / "ports"
FILES = [str(FOLDER / name) for name in NAMES]
needs_cc = pytest.mark.skipif(not (shutil.which("cc") and shutil.which("make")), reason="no C compiler or make here")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")

C_BREAKS = {
    "threshold lambda": ("admm.c", "double t = reg->lambda / rho", "double t = reg->lambda"),
    "single precision": ("admm.c", "x[j] = (-g[j]", "x[j] = (float)(-g[j]"),
    "old y lost": ("admm.c", "z[j] = x[j] + y[j] / rho", "z[j] = x[j]"),
    "sum for mean": ("admm.c", "g[j] /= (double)count", "g[j] /= 1"),
    "clip ignored": ("admm.c", "weight * norm > r->clip", "0"),
    "naive length": ("admm.c", "return largest * sqrt(sum);", "sum *= largest * largest; return sqrt(sum);"),
    "columns first": (
        "admm.c",
        "nuclear((size_t)reg->rows, (size_t)reg->columns",
        "nuclear((size_t)reg->columns, (size_t)reg->rows",
    ),
    "jump accepted": ("validate.c", "reg->a > 2 && reg->a > 1 + 1 / rho", "reg->a > 2"),
    "replacement accepted": ("validate.c", "|| seen[members[i]]++", ""),
}
NODE_BREAKS = {
    "threshold lambda": ("proximal.mjs", "t = lambda / rho", "t = lambda"),
    "single precision": ("admm.mjs", "x = x.map((value, j) => (-g[j]", "x = x.map((value, j) => Math.fround(-g[j]"),
    "noise too late": ("admm.mjs", 'if (release === "primal") x = plus(x, "x");', ""),
    "dual of the wrong sign": ("admm.mjs", "value + rho * (x[j] - z[j])", "value - rho * (x[j] - z[j])"),
    "intercept last": ("admm.mjs", "[1, ...row]", "[...row, 1]"),
    "naive sigmoid": (
        "admm.mjs",
        "Math.exp(-Math.abs(margin)); return (margin > 0 ? small : 1) / (1 + small)",
        "Math.exp(margin); return 1 - small / (1 + small)",
    ),
    "labels accepted": ("admm.mjs", "Math.abs(label) === 1", "Number.isFinite(label)"),
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def build(folder: Path, flags: str = "-O1 -Wall -Wextra -std=c11") -> str:
    program = folder / "check-built"
    made = run("make", "-s", "-C", str(folder), f"OUT={program}", f"CFLAGS={flags}", str(program))
    assert made.returncode == 0, made.stderr
    return str(program)


def copied(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target / source.name, ignore=shutil.ignore_patterns("check", "check-built")))


def broken_copy(source: Path, target: Path, name: str, old: str, new: str) -> Path:
    folder = copied(source, target)
    text = (folder / name).read_text("utf-8")
    assert text.count(old) == 1, f"{name} no longer holds {old!r} once"
    (folder / name).write_text(text.replace(old, new), "utf-8")
    return folder


@needs_cc
@pytest.mark.parametrize("flags", ["-O0 -std=c11", "-O3 -march=native -ffp-contract=fast -std=gnu11"])
def test_the_port_in_c_passes_however_it_is_compiled(flags: str, tmp_path: Path) -> None:
    done = run(build(copied(PORTS / "c", tmp_path), flags), *FILES)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("passed, 0 failed, 0 skipped\n")


@needs_node
def test_the_port_in_node_passes() -> None:
    done = run("node", str(PORTS / "node" / "check.mjs"), *FILES)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("passed, 0 failed, 0 skipped\n")


@needs_cc
@pytest.mark.parametrize("name", C_BREAKS)
def test_a_broken_port_in_c_fails(name: str, tmp_path: Path) -> None:
    done = run(build(broken_copy(PORTS / "c", tmp_path, *C_BREAKS[name])), *FILES)
    assert done.returncode == 1, (name, done.stdout, done.stderr)
    assert "failed " in done.stdout


@needs_node
@pytest.mark.parametrize("name", NODE_BREAKS)
def test_a_broken_port_in_node_fails(name: str, tmp_path: Path) -> None:
    folder = broken_copy(PORTS / "node", tmp_path, *NODE_BREAKS[name])
    done = run("node", str(folder / "check.mjs"), *FILES)
    assert done.returncode == 1, (name, done.stdout, done.stderr)
    assert "failed " in done.stdout


def break_file(target: Path, old: str, new: str) -> str:
    text = (FOLDER / "edges.json").read_text("utf-8")
    assert old in text
    path = target / "edges.json"
    path.write_text(text.replace(old, new, 1), "utf-8")
    return str(path)


BROKEN_FILES = {
    "bits that are another number": ('"rho":["1.0","3ff0000000000000"]', '"rho":["1.0","3ff0000000000001"]'),
    "another version": ('"version": 1', '"version": 2'),
    "a bracket lost": ('"cases": [', '"cases": '),
    "an exact value that rounds elsewhere": ('"exact":"0.5"', '"exact":"0.6"'),
}


@pytest.mark.parametrize("name", BROKEN_FILES)
@pytest.mark.parametrize("language", [pytest.param("c", marks=needs_cc), pytest.param("node", marks=needs_node)])
def test_a_port_refuses_a_broken_file(language: str, name: str, tmp_path: Path) -> None:
    program = [build(copied(PORTS / "c", tmp_path))] if language == "c" else ["node", str(PORTS / "node" / "check.mjs")]
    done = run(*program, break_file(tmp_path, *BROKEN_FILES[name]))
    assert done.returncode == 2, (done.stdout, done.stderr)


@pytest.mark.parametrize("language", [pytest.param("c", marks=needs_cc), pytest.param("node", marks=needs_node)])
def test_a_port_that_was_given_nothing_has_checked_nothing(language: str, tmp_path: Path) -> None:
    program = [build(copied(PORTS / "c", tmp_path))] if language == "c" else ["node", str(PORTS / "node" / "check.mjs")]
    assert run(*program).returncode == 3
