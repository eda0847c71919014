"""One renderer per file: text, JSON, JUnit XML, SARIF, Markdown, one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from audits.gate.report import GateReport
from audits.report.filed import render_badge, render_badge_svg, render_deployment, render_intoto
from audits.report.html import render_html
from audits.report.machine import render_json, render_junit, render_sarif
from audits.report.text import render_markdown, render_text

RENDERERS: Mapping[str, Callable[[GateReport], str]] = MappingProxyType(
    {
        "text": render_text,
        "json": render_json,
        "junit": render_junit,
        "sarif": render_sarif,
        "markdown": render_markdown,
        "html": render_html,
        "badge": render_badge,
        "badge-svg": render_badge_svg,
        "intoto": render_intoto,
        "deployment": render_deployment,
    }
)
