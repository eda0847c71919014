"""The schemas of reports that others read: SARIF 2.1.0, Jenkins' JUnit, in-toto's statement, the registry's entries."""

from __future__ import annotations

import functools
import io
import json
from pathlib import Path

import jsonschema
import xmlschema

DATA = Path(__file__).resolve().parents[1] / "data"


@functools.cache
def _sarif() -> jsonschema.Draft4Validator:
    schema = json.loads((DATA / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema)


@functools.cache
def _junit() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(DATA / "junit-10.xsd")


def errors_of(schema: str, text: str) -> list[str]:
    """What a schema of tests/data has against a document."""
    known = json.loads((DATA / schema).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(known)
    return [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(known).iter_errors(json.loads(text))]


def sarif_errors(text: str) -> list[str]:
    """What the official schema has against a SARIF document."""
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in _sarif().iter_errors(json.loads(text))]


def junit_errors(text: str) -> list[str]:
    """What the Jenkins schema has against a JUnit document."""
    return [f"{e.path}: {e.reason}" for e in _junit().iter_errors(io.StringIO(text))]
