"""docs/reference/python-api.md lists every public name of the accountant."""

from __future__ import annotations

import accountant
from tests.docs.pages import DOCS


def test_every_public_name_is_listed() -> None:
    listed = {
        line.rpartition(".")[2]
        for line in (DOCS / "reference" / "python-api.md").read_text("utf-8").splitlines()
        if line.startswith("::: accountant.")
    }
    assert listed == set(accountant.__all__)
