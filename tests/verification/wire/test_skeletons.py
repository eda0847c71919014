"""A skeleton passes the smoke test as soon as its three marked lines are filled in, and says so until then."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from verification.wire.faults import AdapterFault, Fault
from verification.wire.skeletons import FILE_NAMES, Language, skeleton
from verification.wire.smoke import smoke

FILLED = Path(__file__).parent / "filled"  # three lines a language, as a user would type them


def fill_in(text: str, lines: list[str]) -> str:
    """Replace the marked lines, in order, one line each."""
    marked = re.compile(r"^( *)[^\n]*(?:FILL IN|FILL_IN)[( \"]*[123]:[^\n]*$", re.MULTILINE)
    assert len(marked.findall(text)) == 3
    replacements = iter(lines)
    return marked.sub(lambda match: match.group(1) + next(replacements), text)


def build(language: Language, text: str, directory: Path) -> list[str]:
    source = directory / FILE_NAMES[language]
    source.write_text(text, encoding="utf-8")
    binary = str(directory / "adapter")
    compilers = {
        Language.C: ["cc", "-O1", "-Wall", "-Werror", "-o", binary, str(source), "-lm"],
        Language.RUST: ["rustc", "-o", binary, str(source)],
    }
    tool = {Language.PYTHON: sys.executable, Language.NODE: "node"}.get(language) or compilers[language][0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    if language in compilers:
        subprocess.run(compilers[language], check=True, capture_output=True)
        return [binary]
    return [tool, str(source)]


@pytest.mark.parametrize("language", list(Language))
def test_three_lines_make_a_sound_adapter(language: Language, tmp_path: Path) -> None:
    filled = fill_in(skeleton(language), (FILLED / f"{language}.txt").read_text(encoding="utf-8").splitlines())
    steps = list(smoke(build(language, filled, tmp_path)))
    assert [str(step.step) for step in steps] == ["start", "data", "data", "replay", "trials", "stop"]


@pytest.mark.parametrize("language", list(Language))
def test_an_unfilled_skeleton_says_which_line_is_missing(language: Language, tmp_path: Path) -> None:
    with pytest.raises(AdapterFault, match=r"FILL IN [123]") as caught:
        list(smoke(build(language, skeleton(language), tmp_path)))
    assert caught.value.fault is Fault.REFUSED
