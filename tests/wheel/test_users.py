"""The users of the documentation, in an environment that has only the wheel: what the pages show is what they get.

The machine-learning engineer follows the guide to training; the author of a port the tutorial; the owner of a CI the
guide to continuous integration. Blocks of the last two that take minutes are run by the tests of the pages.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks
from tests.docs.session import Session
from tests.wheel.conftest import Installed

pytestmark = pytest.mark.slow
USERS = {
    "machine-learning engineer": (DOCS / "guides" / "train.md", True),
    "author of a port": (DOCS / "getting-started.md", False),
    "owner of a CI": (DOCS / "guides" / "continuous-integration.md", False),
}


@pytest.mark.parametrize("user", USERS)
def test_the_page_works_with_the_wheel_alone(user: str, with_sklearn: Installed) -> None:
    page, slow = USERS[user]
    session = Session(with_sklearn.folder)
    tools = with_sklearn.folder / ".tools"
    for name in ("dpadmm", "python", "python3"):  # the environment's own, not those of the checkout
        (tools / name).unlink()
    session.environment = {
        key: value for key, value in session.environment.items() if not key.startswith(("PYTHON", "COV"))
    } | {"PATH": f"{with_sklearn.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    wrong = [str(step) for step in session.play(blocks(page.read_text("utf-8")), slow=slow) if not step.agrees]
    assert not wrong, "\n".join(wrong)
    assert not (with_sklearn.folder / "accountant").exists()


def test_the_checkout_is_not_what_is_imported(with_sklearn: Installed) -> None:
    done = with_sklearn.run("python", "-c", "import accountant, dpadmm; print(accountant.__file__, dpadmm.__file__)")
    assert all(Path(name).is_relative_to(with_sklearn.environment) for name in done.stdout.split())
