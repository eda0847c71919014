"""Records come from known files, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from experiments import data
from experiments.errors import DataError
from reference.dataset import Dataset, row_norms

LINES = b"-1 1:1 3:1 \n+1 2:1 123:1\n-1 1:1 122:1\n"


def fake_adult(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files under the known names, whose hashes are made the known ones."""
    for known, attribute in ((data.A9A, "A9A"), (data.A9A_TEST, "A9A_TEST")):
        (folder / known.name).write_bytes(LINES)
        digest = hashlib.sha256(LINES).hexdigest()
        monkeypatch.setattr(data, attribute, data.KnownFile(known.name, digest, known.origin))


def test_both_parts_of_adult_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_adult(tmp_path, monkeypatch)
    records = data.adult(str(tmp_path), trust=False)
    assert (records.records, records.dimension) == (6, 123)
    np.testing.assert_array_equal(records.labels, [-1, 1, -1] * 2)
    assert records.features[1, 1] == records.features[1, 122] == 1
    assert records.features.sum() == 12


@pytest.mark.parametrize(("suffix", "pack"), [(".xz", lzma.compress), (".gz", gzip.compress)])
def test_packed_files_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, pack: object) -> None:
    fake_adult(tmp_path, monkeypatch)
    assert callable(pack)
    for name in ("a9a", "a9a.t"):
        (tmp_path / (name + suffix)).write_bytes(pack((tmp_path / name).read_bytes()))
        (tmp_path / name).unlink()
    assert data.adult(str(tmp_path), trust=False).records == 6


def test_an_altered_copy_is_refused_unless_it_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_adult(tmp_path, monkeypatch)
    (tmp_path / "a9a").write_bytes(LINES.replace(b"3:1", b"3:1 4:0"))
    with pytest.raises(DataError, match=r"not the file that is known.*--trust-data"):
        data.adult(str(tmp_path), trust=False)
    assert data.adult(str(tmp_path), trust=True).records == 6


def test_a_missing_file_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a9a \(or \.xz, \.gz\) is not in .*libsvmtools"):
        data.adult(str(tmp_path), trust=False)
    with pytest.raises(DataError, match="IPUMS International"):
        data.ipums_br(str(tmp_path), trust=False)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [(b"one 1:1", "line 2: not"), (b"+1 1=1", "line 2: not"), (b"+1 124:1", "1..123, got 124"), (b"+1 0:1", "1..123")],
)
def test_a_broken_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, complaint: str) -> None:
    fake_adult(tmp_path, monkeypatch)
    (tmp_path / "a9a").write_bytes(b"+1 1:1\n" + line + b"\n")
    with pytest.raises(DataError, match=complaint):
        data.adult(str(tmp_path), trust=True)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a9a.xz").write_bytes(lzma.compress(LINES)[:-8])
    with pytest.raises(DataError, match="cannot be unpacked"):
        data.adult(str(tmp_path), trust=True)


@pytest.mark.parametrize("separator", [" ", ",", ", ", "\t"])
def test_ipums_is_read_from_text_in_either_separation(tmp_path: Path, separator: str) -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 90, size=(20, 52)), np.arange(20) % 2])
    path = tmp_path / "br.txt"
    path.write_text("\n".join(separator.join(map(str, row)) for row in table) + "\n", "utf-8")
    with pytest.raises(DataError, match="not the file that is known"):
        data.ipums_br(str(path), trust=False)
    records = data.ipums_br(str(path), trust=True)
    np.testing.assert_array_equal(records.features, table[:, :-1])
    np.testing.assert_array_equal(records.labels, np.where(table[:, -1] == 1, 1, -1))
    ready = data.prepared(records, "min-max")
    assert ready.dimension == 53
    np.testing.assert_allclose(row_norms(ready.features), 1, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 2 3\n", "line 1 must have 52 features and a label, got 3 columns"),
        (" ".join(["1"] * 53) + "\n", "two label values, got 1"),
        (" ".join(["x"] * 53) + "\n", "numbers only"),
    ],
)
def test_another_layout_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "br.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=complaint):
        data.ipums_br(str(path), trust=True)


def test_without_the_internet_openml_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(**_: object) -> None:
        raise OSError("no route to host")

    stand_in = types.ModuleType("sklearn.datasets")
    stand_in.__dict__["fetch_openml"] = offline
    monkeypatch.setitem(sys.modules, "sklearn", types.ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", stand_in)
    with pytest.raises(DataError, match=r"OpenML could not be asked for 'a9a'.*--data"):
        data.adult("openml:a9a", trust=False)


@pytest.mark.parametrize("scaling", ["none", "unit", "min-max"])
def test_rows_have_length_one_with_their_intercept(scaling: str) -> None:
    rng = np.random.default_rng(1)
    raw = Dataset.of(rng.normal(size=(50, 4)) * 7, np.where(rng.random(50) < 0.5, -1.0, 1.0))
    ready = data.prepared(raw, scaling)
    np.testing.assert_allclose(row_norms(ready.features), 1, rtol=1e-15)
    assert (ready.features[:, 0] > 0).all()


@pytest.mark.slow
@pytest.mark.data
def test_the_shared_files_are_the_known_ones(adult_files: list[Path], adult: Dataset) -> None:
    records = data.adult(str(adult_files[0].parent), trust=False)
    assert (records.records, records.dimension) == (48_842, 123)
    assert (records.labels < 0).mean() == pytest.approx(0.76072, abs=5e-6)
    np.testing.assert_array_equal(data.prepared(records, "unit").features, adult.features)
