"""Every console and Python block of README, tutorial, guides and reference is run; what is not run is listed here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.matching import matches
from tests.docs.pages import PAGES, ROOT, RUN, SHOWN, Kind, blocks
from tests.docs.session import Session

# Blocks that cannot be run here: package managers, make, and files of CI services. All else is run or written.
NOT_RUN = {
    "README.md": 2,  # pip, make
    "docs/getting-started.md": 2,  # pip, GitHub
    "docs/guides/continuous-integration.md": 7,  # GitHub, GitLab, pre-commit, a history, signatures (test_filed.py)
    "docs/guides/property-tests.md": 1,  # pip
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def has_slow_blocks(path: Path) -> bool:
    return any(block.slow for block in blocks(path.read_text("utf-8")))


def play(path: Path, folder: Path, *, slow: bool) -> None:
    page = blocks(path.read_text("utf-8"))
    wrong = [str(step) for step in Session(folder).play(page, slow=slow) if not step.agrees]
    assert not wrong, f"python -m tests.docs.update {name(path)} rewrites the page\n" + "\n".join(wrong)


@pytest.mark.parametrize("path", [path for path in PAGES if not has_slow_blocks(path)], ids=name)
def test_the_page_shows_what_is_printed(path: Path, tmp_path: Path) -> None:
    play(path, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in PAGES if has_slow_blocks(path)], ids=name)
def test_the_long_page_shows_what_is_printed(path: Path, tmp_path: Path) -> None:
    play(path, tmp_path, slow=True)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_blocks_that_are_not_run_are_listed(path: Path) -> None:
    page = blocks(path.read_text("utf-8"))
    assert {block.language for block in page} <= RUN | SHOWN
    shown = [block for block in page if block.kind is Kind.SHOWN and block.language in {"text", "yaml"}]
    assert len(shown) == NOT_RUN.get(name(path), 0), [block.body[:60] for block in shown]


def test_no_block_hides_in_a_list() -> None:
    hidden = [name(path) for path in PAGES if re.search(r"^[ \t]+```", path.read_text("utf-8"), re.MULTILINE)]
    assert hidden == []


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\n...\nz\n", "a\nb\nc\nz\n"),
        ("epsilon 0.2843\n", "epsilon 0.284341249\n"),
        ("epsilon 0.284341249791\n", "epsilon 0.284341249792\n"),
        ("done; seed 12; 3.5 s\n", "done; seed 99; 14.0 s\n"),
        ("noise ... of 4\n", "noise 2.0 x of 4\n"),
    ],
)
def test_what_may_vary_may_vary(shown: str, printed: str) -> None:
    assert matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("epsilon 0.2843\n", "epsilon 0.2853\n"),
        ("53 passed\n", "52 passed\n"),
        ("stands\n", "refuted\n"),
        ("a\n", "a\nb\n"),
        ("a\n...\nz\n", "a\nb\n"),
        ("1e-8\n", "1e-9\n"),
        ("epsilon 0.2843\n", "epsilon -0.2843\n"),
    ],
)
def test_a_stale_page_is_noticed(shown: str, printed: str) -> None:
    assert not matches(shown, printed)
