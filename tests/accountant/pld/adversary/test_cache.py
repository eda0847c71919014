"""Certificates on disk: used, and never trusted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from accountant.errors import CertificateError
from accountant.pld.adversary import search
from accountant.pld.adversary.cover import kept_boxes
from accountant.pld.adversary.ordering import Ordering
from accountant.pld.adversary.search import (
    OFF,
    VARIABLE,
    Hint,
    Searched,
    cache_folder,
    certificate_for,
    found_certificate,
    kept,
    load,
    path_for,
    save,
)

Q, MU = 0.1, 1.0


@pytest.fixture(scope="module")
def ordering() -> Ordering:
    return found_certificate(Q, MU).ordering


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    found = cache_folder()
    assert found == tmp_path / "certificates"
    return found


def _forbid_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Searched:
        raise AssertionError("a search was made")

    monkeypatch.setattr(search, "found_certificate", refuse)


def test_a_known_certificate_needs_no_search(folder: Path, ordering: Ordering, monkeypatch: pytest.MonkeyPatch) -> None:
    save(ordering, folder)
    _forbid_search(monkeypatch)
    certificate_for.cache_clear()
    assert certificate_for(Q, MU) == ordering
    certificate_for.cache_clear()
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def _forged(ordering: Ordering) -> Ordering:
    """A certificate whose leader is too small; everything else about the file is right."""
    return dataclasses.replace(ordering, single=dataclasses.replace(ordering.single, share=ordering.single.share / 4))


DAMAGES: dict[str, Callable[[Path, Ordering], object]] = {
    "cut off": lambda path, _: path.write_text(path.read_text()[:-40]),
    "empty": lambda path, _: path.write_text(""),
    "not text": lambda path, _: path.write_bytes(b"\xff\xfe\x00"),
    "a box joined": lambda path, _: path.write_text(path.read_text().replace('"cover": "h', '"cover": "k')),
    "forged": lambda path, ordering: save(_forged(ordering), path.parent),
    "another step's": lambda path, _: path.rename(path_for(Q, 1.25, path.parent)),
}


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_damaged_and_forged_files_are_found_out_and_replaced(
    folder: Path, ordering: Ordering, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = save(ordering, folder)
    whole = path.read_text("utf-8")
    DAMAGES[name](path, ordering)
    assert kept(Q, MU) is None
    monkeypatch.setattr(search, "found_certificate", lambda *_: Searched(ordering, Hint()))
    certificate_for.cache_clear()
    assert certificate_for(Q, MU) == ordering
    certificate_for.cache_clear()
    assert path_for(Q, MU, folder).read_text("utf-8") == whole


def test_a_certificate_for_another_step_under_this_name_is_not_used(folder: Path, ordering: Ordering) -> None:
    save(ordering, folder).rename(path_for(Q, 1.25, folder))
    assert kept(Q, 1.25) is None


def test_nothing_is_kept_where_nothing_may_be(
    tmp_path: Path, ordering: Ordering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, OFF)
    assert cache_folder() is None
    assert kept(Q, MU) is None
    with pytest.raises(CertificateError):
        load(tmp_path / "absent.json")
    assert list(kept_boxes(ordering.windows))
