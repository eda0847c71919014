"""The first pages that a new user sees, in a browser: on a phone and on a desk only Python is scrolled sideways."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from tests.audits.report.test_html_in_a_browser import opened
from tests.docs.pages import ROOT
from tests.docs.test_site import site

__all__ = ["site"]

pytestmark = pytest.mark.slow  # builds the site, and starts a browser for every test
FIRST = (
    "index.html",
    "getting-started.html",
    "guides/audit-an-implementation.html",
    "guides/golden-vectors.html",
    "guides/continuous-integration.html",
    "guides/train.html",
)
_MEASURE = """<!doctype html><p id=o></p>
<iframe id=f style="border:0;width:{width}px;height:900px" src="{page}"></iframe>
<script>f.onload=()=>{{const d=f.contentDocument,wide=[];
for(const e of d.querySelectorAll("article *"))if(["auto","scroll"].includes(getComputedStyle(e).overflowX)
&&!e.closest(".language-python")&&e.clientWidth&&e.scrollWidth>e.clientWidth+1)wide.push(e.tagName);
o.textContent="scroll "+d.documentElement.scrollWidth+" inside "+wide}}</script>
"""


def measured(page: Path, scratch: Path, width: int) -> tuple[int, str]:
    """The width that the page takes in a window of this width, and what scrolls within it."""
    frame = scratch / "frame.html"
    frame.write_text(_MEASURE.format(width=width, page=page.as_uri()), encoding="utf-8")
    more = ("--allow-file-access-from-files", "--window-size=1400,1000", "--virtual-time-budget=5000")
    dom, _, _ = opened(frame, scratch, *more)
    found = re.search(r"scroll (\d+) inside ([^<]*)", dom)
    assert found is not None, dom[-500:]
    return int(found[1]), found[2]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", FIRST)
def test_a_first_page_is_not_scrolled_sideways(site: Path, tmp_path: Path, name: str, width: int) -> None:
    taken, inside = measured(site / name, tmp_path, width)
    assert taken <= width
    assert inside == ""


_COPY = """<!doctype html><p id=o></p><iframe id=f src="{page}"></iframe>
<script>f.onload=()=>setTimeout(()=>{{const d=f.contentDocument;
const b=[...d.querySelectorAll(".language-console [data-clipboard-target]")];b.forEach(e=>e.click());
o.textContent=JSON.stringify(b.map(e=>e.getAttribute("data-clipboard-text")))}},2000)</script>
"""


def test_the_copy_button_of_a_terminal_copies_commands_alone(site: Path, tmp_path: Path) -> None:
    frame = tmp_path / "frame.html"
    frame.write_text(_COPY.format(page=(site / "getting-started.html").as_uri()), encoding="utf-8")
    dom, _, _ = opened(frame, tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=8000")
    found = re.search(r'<p id="o">(.*?)</p>', dom, re.DOTALL)
    assert found is not None, dom[-500:]
    copied = json.loads(html.unescape(found[1]))
    text = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    assert len(copied) > 5
    for commands in copied:
        assert all(f"$ {line}" in text or line in text for line in commands.splitlines())
        assert not commands.startswith("$")


def test_the_measure_would_see_a_wide_page_and_a_wide_table(site: Path, tmp_path: Path) -> None:
    text = (site / "index.html").read_text("utf-8")
    wide = site / "wide.html"
    for tag in (
        '<div style="width:900px">wide</div>',
        '<pre style="overflow-x:auto"><b style="margin:500px">x</b></pre>',
    ):
        wide.write_text(text.replace("<h1", f"{tag}<h1", 1), encoding="utf-8")
        taken, inside = measured(wide, tmp_path, 375)
        assert taken > 375 or inside
    wide.unlink()
