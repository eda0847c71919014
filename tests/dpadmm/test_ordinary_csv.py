"""Ordinary CSV files: layouts are found or asked for, train, predict and evaluate work together, nothing leaks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dpadmm as project
from dpadmm.loaders import UnreadableData, delimited, load
from dpadmm.loaders.delimited import layout_of
from tests.dpadmm.in_process import CommandLine

ROWS = [("30", "red", "1.5", "yes"), ("40", "green", "2.5", "no"), ("50", "blue", "0", "yes"), ("9", "red", "1", "no")]
COLOURS = {"colour": ("red", "green", "blue")}


def written(folder: Path, delimiter: str = ",", header: str = "age,colour,dose,rich", name: str = "a.csv") -> Path:
    lines = [header.replace(",", delimiter)] if header else []
    path = folder / name
    path.write_text("\n".join([*lines, *(delimiter.join(row) for row in ROWS)]) + "\n")
    return path


@pytest.fixture(params=["pandas", "numpy"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pandas":
        pytest.importorskip("pandas")
    else:
        monkeypatch.setattr(delimited, "_by_pandas", delimited._by_numpy)
    return str(request.param)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoted", [False, True])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str, quoted: bool, reader: str) -> None:
    path = written(tmp_path, delimiter)
    if quoted:
        path.write_text(path.read_text().replace("red", '"red"'))
    loaded = load(path, label_column="rich", categories=COLOURS)
    assert loaded.features.tolist() == [[30, 1, 0, 0, 1.5], [40, 0, 1, 0, 2.5], [50, 0, 0, 1, 0], [9, 1, 0, 0, 1]]
    assert [name for column in loaded.columns for name in column.features] == [
        "age",
        "colour=red",
        "colour=green",
        "colour=blue",
        "dose",
    ]
    assert loaded.labels.tolist() == [1, -1, 1, -1]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert layout_of(path).names[0] == "age"


def test_the_label_is_found_or_asked_for(tmp_path: Path) -> None:
    named = written(tmp_path, header="age,colour,dose,Target")
    assert load(named, categories=COLOURS).label == "Target"
    only_text = written(tmp_path, name="b.csv")
    assert load(only_text, categories=COLOURS).label == "rich"
    with pytest.raises(UnreadableData, match="name the label's column with --label-column, one of age, colour"):
        load(only_text)
    bare = written(tmp_path, header="", name="c.csv")
    assert load(bare, categories={"2": COLOURS["colour"]}).label == "4"


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            {"colour": ("red", "green")},
            r"record 3, column 2 \(colour\): is not one of the stated categories red, green",
        ),
        ({"color": ("red", "green")}, "no column 'color' for categories; it has age, colour, dose, rich"),
        ({"colour": ("red", "red")}, "categories of 'colour' must be two or more, each once"),
        ({"rich": ("yes", "no"), **COLOURS}, "'rich' is the label"),
    ],
)
def test_categories_that_do_not_fit_are_refused(
    tmp_path: Path, stated: dict[str, tuple[str, ...]], message: str
) -> None:
    with pytest.raises(UnreadableData, match=message) as refused:
        load(written(tmp_path), label_column="rich", categories=stated)
    assert "blue" not in str(refused.value)


@pytest.mark.parametrize("bad", ["30,1\n", "30,1,yes,3\n30,1\n", "30,,yes\n", "30,nan,yes\n", "30,1,yes,\n"])
def test_both_readers_refuse_what_the_slow_one_refuses(tmp_path: Path, bad: str, reader: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"age,dose,label\n30,1,no\n{bad}40,2,yes\n")
    with pytest.raises(UnreadableData, match=r"bad.csv, line 3"):
        load(path)


def test_both_readers_read_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 5)) * 10.0 ** rng.integers(-9, 9, size=(200, 5))
    path = tmp_path / "a.csv"
    path.write_text("".join(",".join(f"{v!r}" for v in row.tolist()) + f",{i % 2}\n" for i, row in enumerate(table)))
    by_pandas = load(path).features
    monkeypatch.setattr(delimited, "_by_pandas", delimited._by_numpy)
    np.testing.assert_array_equal(load(path).features, table)
    np.testing.assert_allclose(by_pandas, table, rtol=1e-15)


def people(folder: Path, records: int = 3000) -> tuple[Path, Path]:
    """Records to train on and to test with: income follows from age and colour."""
    rng = np.random.default_rng(3)
    paths = (folder / "people.csv", folder / "others.csv")
    for path in paths:
        age, colour = rng.integers(18, 90, records), rng.choice(["red", "green", "blue"], records)
        rich = (age + 25 * (colour == "red") + rng.normal(size=records) * 8) > 62
        rows = (f"{a};{c};{'yes' if r else 'no'}" for a, c, r in zip(age, colour, rich, strict=True))
        path.write_text("age;colour;income\n" + "\n".join(rows) + "\n")
    return paths


TRAIN = ("--label-column", "income", "--categories", "colour=red,green,blue", "--bounds", "age=18:90")
TARGET = ("--epsilon", "2", "--delta", "1e-6")


def test_train_predict_and_evaluate(tmp_path: Path, dpadmm: CommandLine) -> None:
    train, test = people(tmp_path)
    model = tmp_path / "model"
    ran = dpadmm("train", str(train), "--out", str(model), *TRAIN, *TARGET)
    assert ran.code == 0, ran.stderr
    assert "epsilon <= 1.99" in ran.stdout
    saved = project.load_model(model)
    assert saved.feature_names == ("age", "colour=red", "colour=green", "colour=blue")
    assert json.loads((model / "model.json").read_text())["features"] == list(saved.feature_names)
    found = dpadmm("evaluate", str(model), str(test), "--format", "json")
    document = json.loads(found.stdout)
    assert float(document["accuracy"]) > float(document["majority_accuracy"]) + 0.05
    assert document["private"] is False
    assert "NOT private" in found.stderr
    # without the label, and with the columns in another order
    lines = [line.split(";") for line in test.read_text().splitlines()]
    (tmp_path / "new.csv").write_text("\n".join(f"{colour},{age}" for age, colour, _ in lines) + "\n")
    predicted = dpadmm("predict", str(model), str(tmp_path / "new.csv"))
    assert predicted.code == 0, predicted.stderr
    head, *rows = predicted.stdout.splitlines()
    assert head == "class,probability"
    right = sum(row.split(",")[0] == label for row, (*_, label) in zip(rows, lines[1:], strict=True))
    assert right == document["correct"]
    assert all((float(row.split(",")[1]) > 0.5) == (row.split(",")[0] == "yes") for row in rows)


def test_a_model_that_is_no_better_than_the_majority_is_called_so(tmp_path: Path, dpadmm: CommandLine) -> None:
    """From public numbers when it is trained; from records, which is not private, when it is evaluated."""
    train, test = people(tmp_path, 60)
    model = tmp_path / "model"
    ran = dpadmm("train", str(train), "--out", str(model), *TRAIN, "--epsilon", "0.01", "--delta", "1e-6")
    assert "outweighs so few records" in ran.stderr
    document = json.loads((model / "model.json").read_text())
    document["coefficients"] = ["-1.0"] + ["0.0"] * 4
    (model / "model.json").write_text(json.dumps(document))
    found = dpadmm("evaluate", str(model), str(test))
    assert "no better than always predicting the larger class" in found.stderr
    assert "outweighs" not in dpadmm("train", str(train), "--out", str(tmp_path / "m"), *TRAIN, "--sigma", "1").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("evaluate", "nowhere", "others.csv"),
            "nowhere: there is no such model; give the folder",
        ),
        (("predict", "model", "shapes.csv"), "shapes.csv: no column 'age'; it has sides, label"),
        (("evaluate", "model", "shapes.csv"), "no label column 'income'; name it with --label-column"),
        (
            ("predict", "broken.json", "others.csv"),
            "broken.json: must be a model file of format dpadmm-model/2",
        ),
    ],
)
def test_what_does_not_fit_a_model_is_refused(
    tmp_path: Path, dpadmm: CommandLine, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people(tmp_path, 30)
    Path("shapes.csv").write_text("sides,label\n3,a\n4,b\n")
    Path("broken.json").write_text("{}")
    dpadmm("train", "people.csv", "--out", "model", *TRAIN, "--sigma", "1", "--iterations", "3")
    ran = dpadmm(*arguments)
    assert ran.code == 2, ran.stderr
    assert message in ran.stderr


def test_the_bounds_of_each_column_are_used(tmp_path: Path, dpadmm: CommandLine) -> None:
    train, _ = people(tmp_path, 30)
    ran = dpadmm("train", str(train), "--out", str(tmp_path / "model"), *TRAIN, "--sigma", "1", "--no-intercept")
    assert ran.code == 0, ran.stderr
    saved = project.load_model(tmp_path / "model")
    assert saved.preparation.bounds == ((18.0, 90.0), None)
    prepared = saved.preparation.apply(np.array([[54.0, 1, 0, 0], [900.0, 0, 1, 0]]))
    np.testing.assert_allclose(prepared, np.array([[0.5, 1, 0, 0], [1, 0, 1, 0]]) / np.sqrt([[1.25], [2.0]]))


def test_other_formats_can_be_predicted(tmp_path: Path, dpadmm: CommandLine) -> None:
    data = tmp_path / "data.libsvm"
    data.write_text("1 1:1 3:2\n-1 2:1\n" * 10)
    model = str(tmp_path / "model")
    assert dpadmm("train", str(data), "--out", model, "--sigma", "0.1", "--loss", "huber").code == 0
    shown = dpadmm("predict", model, str(data)).stdout.splitlines()
    assert shown[0] == "class"
    assert set(shown[1:]) <= {"1", "-1"}
    assert dpadmm("evaluate", model, str(data)).code == 0
