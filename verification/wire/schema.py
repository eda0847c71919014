"""The published JSON schema of the protocol, generated from the messages: `python -m verification.wire.schema`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic.json_schema import models_json_schema

from verification.files import write_text
from verification.wire import declared_messages as d
from verification.wire import messages as m
from verification.wire.declaration import Declaration

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "protocol.schema.json"


def schema_text() -> str:
    """Return the schema of every request and every answer, as the published file must hold it."""
    requests = (
        m.StartRequest,
        m.DataRequest,
        m.ReplayRequest,
        m.TrialsRequest,
        m.StopRequest,
        d.DeclareRequest,
        d.DeclaredDataRequest,
        d.RecordRequest,
        d.OwnTrialsRequest,
    )
    answers = (
        m.Answer[m.StartResult],
        m.Answer[m.DataResult],
        m.Answer[m.RunResult],
        m.Answer[m.StopResult],
        m.Answer[d.DeclaredStart],
        m.Answer[Declaration],
        m.Answer[d.RecordResult],
        m.Answer[d.OwnTrialsResult],
    )
    references, schema = models_json_schema(
        [(model, "validation") for model in (*requests, *answers)],
        title="dpadmm adapter protocol, version 1",
        description="Newline-delimited JSON. Generated from the messages in verification/wire; do not edit.",
    )
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["anyOf"] = [references[(model, "validation")] for model in (*requests, *answers)]
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def main() -> int:
    """Write the schema, or with --check say whether the published one is current (1 if it is not)."""
    text = schema_text()
    if "--check" in sys.argv[1:]:
        return 0 if PUBLISHED.read_text(encoding="utf-8") == text else 1
    write_text(PUBLISHED, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
