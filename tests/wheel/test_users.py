"""Three users, literally from the guides: each has only the wheel, and a folder whose names clash with our packages.

The owner of a CI follows the guide to continuous integration, the author of a port the guide to the golden vectors and
the tutorial, the person who trains the guide to training. ``pytest -s tests/wheel/test_users.py`` prints how long each
step takes. The job that the guide shows whole is run by tests/docs/test_ci_owner.py.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks
from tests.docs.session import Session
from tests.wheel.conftest import Installed, crowd

pytestmark = pytest.mark.slow
USERS = {
    "trainer": (DOCS / "guides" / "train.md", True),
    "porter": (DOCS / "guides" / "golden-vectors.md", True),
    "porter, tutorial": (DOCS / "getting-started.md", True),
    "CI owner": (DOCS / "guides" / "continuous-integration.md", True),
}


@pytest.mark.parametrize("user", USERS)
def test_the_page_works_with_the_wheel_alone(user: str, with_sklearn: Installed) -> None:
    page, slow = USERS[user]
    session = Session(with_sklearn.folder)
    (with_sklearn.folder / "examples").unlink()
    tools = with_sklearn.folder / ".tools"
    for name in ("dpadmm", "python", "python3"):  # the environment's own, not those of the checkout
        (tools / name).unlink()
    session.environment = {
        key: value for key, value in session.environment.items() if not key.startswith(("PYTHON", "COV"))
    } | {"PATH": f"{with_sklearn.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    crowd(with_sklearn.folder)
    wrong, before = [], time.monotonic()
    for step in session.play(blocks(page.read_text("utf-8")), slow=slow):
        now = time.monotonic()
        print(f"{user:<17} {now - before:6.1f} s  {'as shown' if step.agrees else 'OTHERWISE'}  {step.command}")
        before = now
        wrong += [] if step.agrees else [str(step)]
    assert not wrong, "\n".join(wrong)


def test_the_checkout_is_not_what_is_imported(with_sklearn: Installed) -> None:
    done = with_sklearn.run("python", "-c", "import accountant, dpadmm; print(accountant.__file__, dpadmm.__file__)")
    assert all(Path(name).is_relative_to(with_sklearn.environment) for name in done.stdout.split())
