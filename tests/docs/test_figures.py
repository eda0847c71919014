"""Counts that pages written by hand mention are those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.zoo import MEMBERS


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "evidence" / "index.md"], ids=lambda path: str(path.name))
def test_the_zoo_has_as_many_members_as_pages_say(page: Path) -> None:
    assert f"{len(MEMBERS)} wrong implementations" in " ".join(page.read_text("utf-8").split())
