"""The site builds strictly, loads nothing from elsewhere, and each of its three paths is two clicks from a command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow
PATHS = {
    "I audit an implementation",
    "I port the algorithm",
    "I own a CI",
    "I train a private model",
    "I have a test suite",
}


class Page(HTMLParser):
    """Links, the links of the paths, what the page loads, and its console blocks."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.links, self.paths, self.loaded = path, set[Path](), list[Path](), list[str]()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in {"script", "img", "link", "iframe"}:
            self.loaded += [v for v in (found.get("src"), found.get("href")) if v and found.get("rel") != "canonical"]
        target = urldefrag(found.get("href") or "").url
        if tag == "a" and target and not re.match(r"[a-z]+:", target):
            self.links.add((self.path.parent / target).resolve())
            if "path" in (found.get("class") or "").split():
                self.paths.append((self.path.parent / target).resolve())

    def has_a_command(self) -> bool:
        """Whether a console block of the page runs dpadmm."""
        text = re.sub(r"<[^>]+>", "", self.path.read_text("utf-8"))
        return re.search(r"\$ dpadmm [a-z]+", text) is not None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=300,
    )
    return folder.resolve()


def test_each_path_reaches_a_command_in_two_clicks(site: Path) -> None:
    index = Page(site / "index.html")
    text = (site / "index.html").read_text("utf-8")
    assert all(title in text for title in PATHS)
    assert len(index.paths) == len(PATHS)
    for first in index.paths:
        page = Page(first)
        reached = [page, *(Page(second) for second in page.links if second.suffix == ".html" and second.is_file())]
        assert any(candidate.has_a_command() for candidate in reached), first


def test_every_page_that_speaks_of_epsilon_leads_to_what_that_rests_on(site: Path) -> None:
    proofs = site / "evidence" / "proofs.html"
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    speaking = [path for path in pages if re.search("epsilon|ε", path.read_text("utf-8"), re.IGNORECASE)]
    assert len(speaking) > 40
    assert [path for path in speaking if proofs not in Page(path).links] == []
    anchor = "evidence/proofs.md#what-a-sentence-about-privacy-rests-on"
    assert anchor in (ROOT / "README.md").read_text("utf-8")
    assert 'id="what-a-sentence-about-privacy-rests-on"' in proofs.read_text("utf-8")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    foreign = [
        f"{path.relative_to(site)}: {address}"
        for path in site.rglob("*.html")
        for address in Page(path).loaded
        if re.match(r"(https?:)?//", address)
    ]
    assert foreign == []


def test_every_link_leads_somewhere(site: Path) -> None:
    broken = {
        str(link.relative_to(site))
        for path in site.rglob("*.html")
        if path.name != "404.html"
        for link in Page(path).links
        if not link.exists()
    }
    assert broken == set()
