"""Puts pages that mkdocs.yml does not list at the end of their section, and the version at the foot of every page.

A page that speaks of epsilon ends with a link to what that rests on.
"""

from __future__ import annotations

import posixpath
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

SECTIONS = {"Guides": "guides", "Reference": "reference", "Evidence": "evidence", "Decisions": "adr"}
LEFT_OUT = {"adr/0000-template.md"}
RESTS_ON = "evidence/proofs.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation before the pages are read."""
    root = Path(config.docs_dir)
    project = tomllib.loads((root.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.copyright = f"{project['name']} {project['version']}, {project['license']}"
    for section in config.nav or []:
        for title, entries in section.items():
            folder = SECTIONS.get(title)
            if folder is None:
                continue
            listed = {page for entry in entries for page in (entry.values() if isinstance(entry, dict) else [entry])}
            there = [path.relative_to(root).as_posix() for path in sorted((root / folder).glob("*.md"))]
            entries += [page for page in there if page not in listed | LEFT_OUT]
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as called
    """Lead from every page that speaks of epsilon to what such sentences rest on."""
    here = page.file.src_uri
    if here == RESTS_ON or not any(word in markdown for word in ("epsilon", "Epsilon", "ε")):
        return markdown
    there = posixpath.relpath(RESTS_ON, posixpath.dirname(here) or ".")
    link = f"[What a sentence about privacy rests on]({there}#what-a-sentence-about-privacy-rests-on)"
    return f"{markdown}\n\n---\n\n{link}\n"
