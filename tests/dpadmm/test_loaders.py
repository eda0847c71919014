from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpadmm.loaders import Loaded, UnreadableData, delimited, format_of, load

LIBSVM = "+1 1:0.5 3:2\n-1 2:-1e-3 # a remark\n\n+1\n"
CSV = "age,income,rich\n1,2.5,yes\n-3,4e2,no\n"


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_libsvm_text(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, "a.libsvm", LIBSVM))
    assert loaded.features.tolist() == [[0.5, 0, 2], [0, -1e-3, 0], [0, 0, 0]]
    assert loaded.labels.tolist() == [1, -1, 1]
    assert loaded.classes == ("-1", "+1")
    assert load(tmp_path / "a.libsvm", features=5).features.shape == (3, 5)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_packed_text(tmp_path: Path, suffix: str, pack: object) -> None:
    assert callable(pack)
    packed = written(tmp_path, f"a.csv{suffix}", pack(CSV.encode()))
    assert load(packed).features.tolist() == [[1, 2.5], [-3, 400]]
    broken = written(tmp_path, f"b.csv{suffix}", pack(CSV.encode())[:-9])
    with pytest.raises(UnreadableData, match="cannot be unpacked"):
        load(broken)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("+1 3", "line 2: expected index:value after the label"),
        ("+1 x:3", "line 2: expected index:value after the label"),
        ("+1 -1:3", "line 2: expected index:value after the label"),
        ("+1 0:3", "line 2: indices count from 1, got index 0"),
        ("+1 2:1 2:3", "line 2: indices must rise, got index 2 after index 2"),
        ("+1 1:nan", "line 2: expected a finite number, got nan"),
        ("+1 1:inf", "line 2: expected a finite number, got inf"),
        ("+1 1:two", "line 2: expected a number, got text"),
        ("+1 1:", "line 2: expected a number, got nothing"),
        ("+1 99999999999:1", "line 2: index must be at most 536870912, got index 99999999999"),
        ("+1 \xff:1", "line 2: expected index:value"),
    ],
)
def test_a_malformed_libsvm_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        load(written(tmp_path, "bad", f"-1 1:1\n{line}\n"))


def test_an_index_beyond_the_public_number_of_features_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableData, match="line 1: index must be at most 2, got index 3"):
        load(written(tmp_path, "a", LIBSVM), features=2)


@pytest.mark.parametrize("name", ["a", "a.csv"])
@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(UnreadableData, match="holds no records"):
        load(written(tmp_path, name, content))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableData, match="line 2: is not text in UTF-8"):
        load(written(tmp_path, "a", b"1 1:1\n\xff\xfe 1:1\n"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["1", "1"], "labels must be of exactly two classes, got 1$"),
        (["1", "2", "3"], "labels must be of exactly two classes, got 3$"),
    ],
)
def test_labels_must_be_of_two_classes(tmp_path: Path, labels: list[str], message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        load(written(tmp_path, "a", "".join(f"{label} 1:1\n" for label in labels)))


@pytest.mark.parametrize(
    ("labels", "signs", "classes"),
    [
        (["0", "1"], [-1, 1], ("0", "1")),
        (["2", "1", "1.0"], [1, -1, -1], ("1", "2")),
        (["10", "9"], [1, -1], ("9", "10")),
        (["yes", "no"], [1, -1], ("no", "yes")),
    ],
)
def test_the_larger_label_is_plus_one(
    tmp_path: Path, labels: list[str], signs: list[int], classes: tuple[str, str]
) -> None:
    loaded = load(written(tmp_path, "a", "".join(f"{label} 1:1\n" for label in labels)))
    assert loaded.labels.tolist() == signs
    assert loaded.classes == classes


def test_csv_with_and_without_header(tmp_path: Path) -> None:
    named = load(written(tmp_path, "a.csv", CSV))
    assert named.features.tolist() == [[1, 2.5], [-3, 400]]
    assert named.labels.tolist() == [1, -1]
    bare = load(written(tmp_path, "b.csv", "1,2,0\r\n3,4,1\r\n"))
    assert bare.features.tolist() == [[1, 2], [3, 4]]
    by_name = load(written(tmp_path, "c.csv", "rich,age\n1,7\n0,8\n"), label_column="rich")
    by_number = load(tmp_path / "c.csv", label_column="1")
    assert by_name.features.tolist() == by_number.features.tolist() == [[7], [8]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2,0\n3,4\n", "line 2: expected 3 columns, got 2"),
        (
            "1,2,0\n3,x,1\n",
            "line 2, column 2: expected a number, got text; a column of words needs its public categories",
        ),
        ("1,2,0\n3,,1\n", "line 2, column 2: expected a number, got nothing"),
        ("1,2,0\n3,nan,1\n", "line 2, column 2: expected a finite number, got nan"),
        ('1,"2,0\n3,4,1\n', "unexpected end of data"),
        ("0\n1\n", "needs a feature beside the label, got one column"),
        ("a,b\n", "holds no records"),
    ],
)
def test_a_malformed_csv_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        load(written(tmp_path, "bad.csv", content))


def test_a_label_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableData, match="no label column 'poor'; its header has age, income, rich"):
        load(written(tmp_path, "a.csv", CSV), label_column="poor")
    with pytest.raises(UnreadableData, match="no label column '4'; it has no header and 2 columns"):
        load(written(tmp_path, "b.csv", "1,0\n2,1\n"), label_column="4")


@pytest.mark.parametrize("names", [("features", "labels"), ("X", "y")])
def test_npz(tmp_path: Path, names: tuple[str, str]) -> None:
    arrays = {names[0]: np.array([[1, 2], [3, 4]]), names[1]: np.array([0, 1])}
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]  # numpy's stub takes a mapping for its flag
    loaded = load(tmp_path / "a.npz")
    assert loaded.features.tolist() == [[1, 2], [3, 4]]
    assert loaded.labels.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (np.array([[1.0], [np.nan]]), np.array([0, 1]), "row 1, column 0: expected a finite number, got nan"),
        (np.array([[1.0], [2.0]]), np.array([0]), "there must be one label for each of 2 records"),
        (np.array([1.0, 2.0]), np.array([0, 1]), "features must be a non-empty matrix"),
        (np.array([["a"], ["b"]]), np.array([0, 1]), "features must be a non-empty matrix of numbers"),
        (np.zeros((2, 0)), np.array([0, 1]), "features must be a non-empty matrix"),
        (np.ones((2, 1)), np.array([0, 0]), "exactly two classes"),
        (np.array([[object()], [1]]), np.array([0, 1]), "is not an NPZ archive of plain arrays"),
    ],
)
def test_a_bad_npz_is_refused(tmp_path: Path, features: object, labels: object, message: str) -> None:
    np.savez(tmp_path / "a.npz", features=np.asarray(features), labels=np.asarray(labels))
    with pytest.raises(UnreadableData, match=message):
        load(tmp_path / "a.npz")


def test_an_archive_without_the_arrays_or_that_is_none(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", other=np.ones(2))
    with pytest.raises(UnreadableData, match=r"needs arrays 'features' and 'labels' .* got other"):
        load(tmp_path / "a.npz")
    for content in (b"", b"nonsense", pickle.dumps({"X": 1}), LIBSVM.encode()):
        with pytest.raises(UnreadableData, match="is not an NPZ archive of plain arrays"):
            load(written(tmp_path, "b.npz", content))


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    for name in ("a", "a.csv", "a.npz"):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a9a", "libsvm"), ("a9a.t.xz", "libsvm"), ("d.csv", "csv"), ("d.csv.gz", "csv"), ("v1.2/d.npz", "npz")],
)
def test_the_format_follows_from_the_name(name: str, expected: str) -> None:
    assert format_of(Path(name)) == expected


@given(content=st.binary(max_size=60), name=st.sampled_from(["a", "a.csv", "a.npz", "a.gz", "a.xz"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    path = written(tmp_path_factory.mktemp("fuzz"), name, content)
    try:
        loaded = load(path)
    except UnreadableData as refusal:
        message: str | None = str(refusal)
    else:
        message = None
        assert isinstance(loaded, Loaded)
        assert np.isfinite(loaded.features).all()
    assert message is None or str(path) in message


@pytest.mark.data
@pytest.mark.slow
def test_adult_is_read_whole(adult_files: list[Path]) -> None:
    train, test = (load(path, features=123) for path in adult_files)
    assert train.features.shape == (32_561, 123)
    assert test.features.shape == (16_281, 123)
    assert [int((part.labels > 0).sum()) for part in (train, test)] == [7_841, 3_846]


@pytest.mark.parametrize(
    "line",
    ["+1 1:2 9999999999999999999999:1", "+1 1:\t2", "+1 2:3:4 5", "+1 1 :2", "+1 1_0:2", "+1 1:1e999", "+1 +1:2"],
)
def test_the_fast_reading_of_a_line_is_as_strict_as_the_careful_one(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a"
    path.write_text(f"-1 1:1\n{line}\n")
    with pytest.raises(UnreadableData, match="a, line 2") as refused:
        load(path)
    assert "2:3:4" not in str(refused.value)


@pytest.mark.parametrize("quoted", ['"a","b","label"\n1,2,no\n', 'a,b,label\n1,2,"no"\n', 'a,b,label\n"1",2,no\n'])
@pytest.mark.parametrize("without_pandas", [False, True])
def test_quotes_keep_a_file_on_the_fast_way(
    tmp_path: Path, quoted: str, without_pandas: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{quoted}3,4,yes\n")
    if without_pandas:
        monkeypatch.setattr(delimited, "_by_pandas", delimited._by_numpy)
    monkeypatch.setattr(delimited, "_line_by_line", None)
    loaded = load(path)
    assert loaded.features.tolist() == [[1, 2], [3, 4]]
    assert loaded.classes == ("no", "yes")


def test_a_quote_that_spans_lines_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b,label\n1,2,"no\n3,4,yes\n5,6,no"\n7,8,yes\n')
    with pytest.raises(UnreadableData, match=r"a.csv, line 2: unexpected end of data"):
        load(path)
