"""docs/reference/protocol.md says what the code does: its examples are valid, and nothing is missing from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from verification.wire import messages as m
from verification.wire.arrays import WireModel
from verification.wire.faults import Fault
from verification.wire.parameters import LossName, Parameters, RegularizerName, RegularizerOptions, Release

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\{.*\}$", "\n".join(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)), re.MULTILINE)
REQUESTS: TypeAdapter[m.Request] = TypeAdapter(m.Request)
ANSWERS: dict[str, type[WireModel]] = {
    "start": m.Answer[m.StartResult],
    "data": m.Answer[m.DataResult],
    "replay": m.Answer[m.RunResult],
    "trials": m.Answer[m.RunResult],
    "stop": m.Answer[m.StopResult],
}


def test_every_example_is_a_valid_message() -> None:
    kinds: dict[int, str] = {}
    for line in LINES:
        document = json.loads(line)
        if "request" in document:
            kinds[document["id"]] = REQUESTS.validate_json(line).request
        else:
            ANSWERS[kinds[document["id"]]].model_validate_json(line)
    assert set(kinds.values()) == set(ANSWERS)


@pytest.mark.parametrize("name", [*m.Capability, *Fault, *LossName, *RegularizerName, *Release, *m.Show])
def test_every_name_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE or f'"{name}"' in PAGE


@pytest.mark.parametrize("model", [Parameters, RegularizerOptions])
def test_every_field_is_explained(model: type[Parameters] | type[RegularizerOptions]) -> None:
    for name, field in model.model_fields.items():
        assert f"`{field.serialization_alias or name}`" in PAGE
