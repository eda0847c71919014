"""Puts pages that mkdocs.yml does not list at the end of their section, and the version at the foot of every page."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

SECTIONS = {"Guides": "guides", "Reference": "reference", "Evidence": "evidence", "Decisions": "adr"}
LEFT_OUT = {"adr/0000-template.md"}


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
