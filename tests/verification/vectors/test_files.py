"""The files: complete, current, within their schema, and refused with the place where they are not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tools.golden_vectors.flags import FLAGS
from tools.golden_vectors.writing import stale, text_of
from verification.errors import BadVectors
from verification.vectors import model
from verification.vectors.files import BASELINES, FOLDER, NAMES, SCHEMA, load

EDGES = FOLDER / "edges.json"


def test_nobody_edited_the_files_and_none_is_stale(texts: dict[str, str]) -> None:
    assert stale(texts) == []


def test_an_edited_a_missing_and_a_stray_file_are_stale(tmp_path: Path) -> None:
    texts = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.json")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert stale(texts, tmp_path) == []
    edited = tmp_path / "edges.json"
    edited.write_text(edited.read_text("utf-8").replace('"ulp":7', '"ulp":8', 1), "utf-8")
    (tmp_path / "invalid.json").unlink()
    (tmp_path / "stray.json").write_text("{}", "utf-8")
    assert [path.name for path in stale(texts, tmp_path)] == ["edges.json", "invalid.json", "stray.json"]


def test_there_are_enough_cases_and_they_are_small(cases: list[model.Case]) -> None:
    assert len(cases) >= 150
    assert sum(case.expected is not None for case in cases) >= 150
    assert sum(case.error is not None for case in cases) >= 40
    assert len({case.id for case in cases}) == len(cases)
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < 4 << 20


def test_every_combination_is_there(valid: list[model.Case]) -> None:
    kinds = (("ssadmm", None), ("mpadmm", "all"), ("mpadmm", "primal"))
    regularizers = ("none", "l1", "elastic-net", "group-l1", "nuclear", "scad", "mcp")
    seen = {(case.algorithm, case.release, case.loss, case.regularizer.name, case.clip is not None) for case in valid}
    wanted = {
        (*kind, loss, regularizer, clip)
        for kind, loss, regularizer, clip in itertools.product(
            kinds, ("logistic", "huber"), regularizers, (True, False)
        )
    }
    assert wanted <= seen
    assert {case.intercept for case in valid} == {True, False}
    assert {case.initial is None for case in valid} == {True, False}
    assert any(len({step[0] for step in case.eta}) > 1 for case in valid)


def test_every_flag_is_used_and_every_used_flag_explained(files: list[model.VectorFile]) -> None:
    assert set.union(*(set(file.flags) for file in files)) == set(FLAGS)


def test_the_published_schema_accepts_every_file_and_refuses_a_broken_one() -> None:
    schema = json.loads((FOLDER / SCHEMA).read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for name in NAMES:
        document = json.loads((FOLDER / name).read_text("utf-8"))
        assert next(validator.iter_errors(document), None) is None
    document["cases"][0]["rho"] = 1.0
    assert next(validator.iter_errors(document), None) is not None


def test_what_is_read_is_what_was_written(files: list[model.VectorFile]) -> None:
    for name, file in zip((*NAMES, BASELINES), files, strict=True):
        assert text_of(file) == (FOLDER / name).read_text("utf-8")


def _cut(text: str) -> str:
    return text[: len(text) // 2]


def _lose_a_case(text: str) -> str:
    document = json.loads(text)
    del document["cases"][7]
    return json.dumps(document)


def _with(change: Callable[[dict[str, object]], None]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        document = json.loads(text)
        change(document["cases"][3])
        return json.dumps(document)

    return changed


def _wrong_bits(case: dict[str, object]) -> None:
    case["rho"] = ["0.1", "3fb999999999999b"]


def _ragged(case: dict[str, object]) -> None:
    features = case["features"]
    assert isinstance(features, list)
    features[0].append(["1.0", "3ff0000000000000"])


def _no_row(case: dict[str, object]) -> None:
    expected = case["expected"]
    assert isinstance(expected, dict)
    expected["x"] = []


BREAKS: dict[str, tuple[Callable[[str], str], str]] = {
    "truncated": (_cut, r"not JSON, or cut off, at line \d+, column \d+"),
    "a case lost": (_lose_a_case, "count says"),
    "an unknown version": (lambda text: text.replace('"version": 1', '"version": 3', 1), r"version must be .* 3\)"),
    "another format": (lambda text: text.replace("dpadmm-vectors", "vectors", 1), "format, version must be"),
    "no object": (lambda _: "[]", "format, version must be"),
    "an unknown field": (_with(lambda case: case.update(extra=1)), r"cases\.3\.extra \(case 'l1-rho-at-threshold'\)"),
    "a number for a string": (_with(lambda case: case.update(rho=1.0)), r"cases\.3\.rho"),
    "decimal and bits that differ": (_with(_wrong_bits), "0.1 is not the binary64 with bits 3fb999999999999b"),
    "ragged rows": (_with(_ragged), "different lengths"),
    "expected rows missing": (_with(_no_row), "expected x must have"),
    "an unexplained flag": (_with(lambda case: case.update(flags=["nonsense"])), "nonsense"),
    "an id twice": (_with(lambda case: case.update(id="signed-zeros")), "used twice"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_file_is_refused_with_its_name_and_the_place(name: str, tmp_path: Path) -> None:
    break_it, place = BREAKS[name]
    path = tmp_path / "broken.json"
    path.write_text(break_it(EDGES.read_text("utf-8")), "utf-8")
    with pytest.raises(BadVectors, match=place) as refusal:
        load(path)
    assert "broken.json" in str(refusal.value)


def test_a_file_that_is_not_text_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadVectors, match="not UTF-8"):
        load(path)
    with pytest.raises(BadVectors, match="cannot be read"):
        load(tmp_path / "absent.json")


def test_a_number_of_either_form_is_the_same_number() -> None:
    for value in (0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")):
        pair = model.number(value)
        assert model.bits_of(model.value_of(pair)) == model.bits_of(value)


def test_admissible_is_what_the_kind_says() -> None:
    one = model.bits_of(1.0)
    exactly = model.Value(exact="1", bits=one, kind="bits")
    assert exactly.admits(1.0)
    assert not exactly.admits(1.0 + 2**-52)
    close = model.Value(exact="1", bits=one, kind="ulp", ulp=1)
    assert close.admits(1.0 - 2**-53)
    assert not close.admits(1.0 + 2**-51)
    ends = model.Value(
        exact="0", bits=model.bits_of(0.0), kind="enclosure", low=model.number(-1.0), high=model.number(2.0)
    )
    assert ends.admits(-0.0)
    assert ends.admits(2.0)
    assert not ends.admits(2.0000000001)
    assert not ends.admits(float("nan"))
    zero = model.Value(exact="0", bits=model.bits_of(0.0), kind="bits")
    assert zero.admits(-0.0), "zeros of either sign are one number"
