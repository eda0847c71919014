"""A declaration that contradicts itself is told so; one that is shaped wrongly is no declaration."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from verification.wire.declaration import Declaration, contradictions

VALUE: dict[str, object] = {"name": "w", "noise": "gaussian", "scale": 1.0, "sensitivity": 0.5, "norm": "l2"}


def declared(*values: dict[str, object], **fields: object) -> Declaration:
    told: dict[str, object] = {
        "name": "mine",
        "values": list(values) or [VALUE],
        "neighbours": "replace-one",
        "bound": {"kind": "clip", "radius": 1.0},
    }
    return Declaration.model_validate_json(json.dumps(told | fields))


def problems(declaration: Declaration, *, pure: bool = False) -> str:
    return "; ".join(contradictions(declaration, neighbours="replace-one", pure=pure, records=20))


def test_an_honest_declaration_contradicts_nothing() -> None:
    model: dict[str, object] = {"name": "m", "noise": "none", "from": ["w"]}
    assert problems(declared(VALUE, model, {"name": "last", "noise": "none", "from": ["m"]})) == ""
    assert problems(declared(bound={"kind": "none"}, sampling={"kind": "with-replacement", "batch": 21})) == ""


@pytest.mark.parametrize(
    ("values", "fields", "message"),
    [
        ([VALUE, {"name": "m", "noise": "none"}], {}, "no noise and is no post-processing"),
        ([VALUE, {"name": "m", "noise": "none", "from": ["nothing"]}], {}, "of which nothing is declared"),
        (
            [VALUE, {"name": "a", "noise": "none", "from": ["b"]}, {"name": "b", "noise": "none", "from": ["a"]}],
            {},
            "leads back to no value with noise",
        ),
        ([VALUE | {"norm": "l1"}], {}, "hides an l2 sensitivity"),
        ([VALUE | {"noise": "laplace"}], {}, "hides an l1 sensitivity"),
        ([VALUE | {"scale": [1.0, 2.0]}], {"iterations": 3}, "2 entries for 3 releases"),
        ([VALUE], {"neighbours": "add-or-remove"}, "about replace-one neighbours"),
        (
            [VALUE],
            {"sampling": {"kind": "with-replacement", "batch": 3, "amplification": "without-replacement"}},
            "drawn with-replacement and priced as without-replacement",
        ),
        ([VALUE | {"enters": "objective", "jacobian": 0.1}], {}, "only gamma-norm noise"),
        ([VALUE], {"sampling": {"kind": "without-replacement", "batch": 21}}, "21 records cannot be drawn"),
    ],
)
def test_what_no_run_could_make_true(values: list[dict[str, object]], fields: dict[str, object], message: str) -> None:
    assert message in problems(declared(*values, **fields))


def test_gaussian_noise_at_delta_0() -> None:
    assert "no finite epsilon at delta 0" in problems(declared(), pure=True)


@pytest.mark.parametrize(
    "value",
    [
        VALUE | {"scale": None},
        VALUE | {"scale": -1.0},
        VALUE | {"grid": 1.0},
        VALUE | {"jacobian": 0.1},
        VALUE | {"noise": "uniform"},
        {"name": "w", "noise": "none", "scale": 1.0},
    ],
)
def test_what_is_no_declaration(value: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        declared(value)
