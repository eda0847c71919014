r"""Golden vectors, written: values in 60 digits, tolerances in ball arithmetic (`dpadmm vectors generate`).

1. `grid`, `edges` and `invalid` list the cases, `flags` the bugs that they catch.
2. `exact` computes each case in 60 digits: the value.
3. `enclosure` and `forms` compute it in balls: the tolerance.
4. This module writes the files that `verification.vectors.files` reads; a manual edit is detected.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

from tools.golden_vectors.baseline_grid import baselines
from tools.golden_vectors.edges import edges
from tools.golden_vectors.expected import expected
from tools.golden_vectors.flags import FLAGS
from tools.golden_vectors.grid import every_combination, sizes
from tools.golden_vectors.invalid import invalid
from verification.vectors import baseline_model, model
from verification.vectors.files import BASELINE_SCHEMA, BASELINES, FILES, FOLDER, NAMES, SCHEMA

GENERATOR = "dpadmm vectors generate"
NOTE = (
    "Generated; do not edit. Values from 60 digits, tolerances from ball arithmetic; "
    "docs/reference/vectors.md explains."
)


def generated() -> dict[str, str]:
    """The text of every file, by name."""
    groups: dict[str, list[model.Case]] = {name: [] for name in NAMES}
    for recipe in itertools.chain(every_combination(), sizes()):
        groups[f"{recipe.algorithm}.json"].append(recipe.written(expected(recipe)))
    groups["edges.json"] = [recipe.written(expected(recipe)) for recipe in edges()]
    groups["invalid.json"] = [recipe.written(None) for recipe in invalid()]
    groups[BASELINES] = [recipe.written(expected(recipe)) for recipe in baselines()]
    schemas = {SCHEMA: schema_text(model.VERSION), BASELINE_SCHEMA: schema_text(baseline_model.VERSION)}
    return schemas | {name: text_of(file_of(cases, _version(name))) for name, cases in groups.items()}


def _version(name: str) -> int:
    return baseline_model.VERSION if name == BASELINES else model.VERSION


def file_of(cases: list[model.Case], version: int = model.VERSION) -> model.VectorFile:
    """A file of cases with the notes of the flags that they use."""
    used = {flag for case in cases for flag in case.flags}
    return FILES[version].model_validate(
        {
            "format": model.FORMAT,
            "version": version,
            "generator": GENERATOR,
            "note": NOTE,
            "count": len(cases),
            "flags": {name: FLAGS[name] for name in sorted(used)},
            "cases": cases,
        }
    )


def text_of(file: model.VectorFile) -> str:
    """One case a line: small, and a changed case is one changed line."""
    document = file.model_dump(mode="json", by_alias=True, exclude_none=True)
    cases = document.pop("cases")
    head = json.dumps(document, indent=1, allow_nan=False).removesuffix("\n}")
    lines = ",\n".join(json.dumps(case, separators=(",", ":"), allow_nan=False) for case in cases)
    return f'{head},\n "cases": [\n{lines}\n ]\n}}\n'


def schema_text(version: int = model.VERSION) -> str:
    """The JSON schema of a version of the format."""
    schema = FILES[version].model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"dpadmm golden vectors, version {version}"
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


def stale(texts: Mapping[str, str], folder: Path = FOLDER) -> list[Path]:
    """Which files differ from what is generated now; a file that nobody generates is stale as well."""
    there = {path.name for path in folder.glob("*.json")}
    return [folder / name for name in sorted(there | set(texts)) if _text(folder / name) != texts.get(name)]


def _text(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None
