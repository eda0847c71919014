"""Read the vector files; every number is checked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from verification.errors import BadVectors
from verification.vectors import baseline_model, model
from verification.vectors.recipe import Recipe, read

FOLDER = Path(__file__).parent / "data"
SCHEMA = "schema.json"
NAMES = ("ssadmm.json", "mpadmm.json", "edges.json", "invalid.json")
BASELINES, BASELINE_SCHEMA = "baselines.json", "schema-2.json"
FILES: dict[int, type[model.VectorFile]] = {
    model.VERSION: model.VectorFile,
    baseline_model.VERSION: baseline_model.BaselineFile,
}


def load(path: Path) -> model.VectorFile:
    """A file, checked in every number; the error names the file and the place."""
    text = _readable(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadVectors(f"{path}: not JSON, or cut off, at {place}: {error.msg}") from None
    found = (document.get("format"), document.get("version")) if isinstance(document, dict) else (None, None)
    kind = FILES.get(found[1]) if found[0] == model.FORMAT and isinstance(found[1], int) else None
    if kind is None:
        known = " or ".join(str((model.FORMAT, version)) for version in FILES)
        raise BadVectors(f"{path}: format, version must be {known}, got {found}")
    try:
        file = kind.model_validate_json(text)
    except ValidationError as error:
        raise BadVectors(f"{path}: {_places(document, error)}") from None
    for case in file.cases:
        _require_consistent(path, case)
    return file


def _readable(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise BadVectors(f"{path}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise BadVectors(f"{path}: cannot be read: {error.strerror}") from None


def _places(document: dict[str, object], error: ValidationError) -> str:
    """The first places that break the schema; a case by its id."""
    cases = document.get("cases")
    shown = []
    for problem in error.errors(include_url=False)[:3]:
        place = ".".join(map(str, problem["loc"])) or "the file"
        match problem["loc"], cases:
            case ("cases", int(index), *_), list() if index < len(cases) and isinstance(cases[index], dict):
                place += f" (case {cases[index].get('id')!r})"
        shown.append(f"{place}: {problem['msg']}")
    return "; ".join(shown)


def _require_consistent(path: Path, case: model.Case) -> None:
    """Decimals and bits agree everywhere, and the expected values have one row an iteration."""
    try:
        recipe = read(case)
        if case.expected is not None:
            _require_shape(recipe, case.expected)
    except ValueError as error:
        raise BadVectors(f"{path}: case {case.id!r}: {error}") from None


def _require_shape(recipe: Recipe, expected: model.Expected) -> None:
    baseline = recipe.algorithm in baseline_model.ALGORITHMS
    for name in ("gradient", "x", "z", "y", *(("full_gradient",) if baseline else ())):
        rows: list[list[model.Value]] = getattr(expected, name)
        absent = baseline and name != "x" and not rows
        if not absent and [len(row) for row in rows] != [recipe.width(name)] * len(recipe.eta):
            raise ValueError(f"expected {name} must have {len(recipe.eta)} rows of {recipe.width(name)} values")
        for value in itertools.chain(*rows):
            if not value.admits(model.from_bits(value.bits)):
                raise ValueError(f"expected {name}: {value.exact} is not admissible in its own place")


def load_all(paths: Iterable[Path] | None = None) -> list[model.VectorFile]:
    """Every file; the package's own unless others are named."""
    return [load(path) for path in ([FOLDER / name for name in (*NAMES, BASELINES)] if paths is None else paths)]
