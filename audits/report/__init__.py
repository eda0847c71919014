"""One renderer per file: text, JSON, JUnit XML, SARIF, Markdown, one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from audits.gate.findings import GateReport
from audits.report.html import render_html
from audits.report.json import render_json
from audits.report.junit import render_junit
from audits.report.markdown import render_markdown
from audits.report.sarif import render_sarif
from audits.report.text import render_text

RENDERERS: Mapping[str, Callable[[GateReport], str]] = MappingProxyType(
    {
        "text": render_text,
        "json": render_json,
        "junit": render_junit,
        "sarif": render_sarif,
        "markdown": render_markdown,
        "html": render_html,
    }
)
