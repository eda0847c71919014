"""Write and read the vector files; manual edits are detected."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
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
GENERATOR = "dpadmm vectors generate"
NOTE = (
    "Generated; do not edit. Values from 60 digits, tolerances from ball arithmetic; "
    "docs/reference/vectors.md explains."
)


def generated() -> dict[str, str]:
    """The text of every file, by name."""
    from verification.vectors.baseline_grid import baselines  # noqa: PLC0415
    from verification.vectors.edges import edges  # noqa: PLC0415 - readers of the files need no generator
    from verification.vectors.expected import expected  # noqa: PLC0415
    from verification.vectors.grid import every_combination, sizes  # noqa: PLC0415
    from verification.vectors.invalid import invalid  # noqa: PLC0415

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
    from verification.vectors.flags import FLAGS  # noqa: PLC0415 - readers find them in the files

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
