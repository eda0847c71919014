"""The shipped table of hints: used, never trusted, and rebuilt by `make certificates`."""

from __future__ import annotations

import dataclasses
import random

import pytest

from accountant.pld.adversary import search
from accountant.pld.adversary.cover import halved_boxes, kept_boxes
from accountant.pld.adversary.ordering import check
from accountant.pld.adversary.search import PATH, SHARES, Hint, entries, found_certificate, hint_for, read, written
from tools.adversary_table import MUS, RATES, row

LARGEST_FILE = 200_000


def test_the_table_covers_its_grid_and_is_small() -> None:
    table = read(PATH.read_text("utf-8"))
    assert [(entry.q, entry.mu) for entry in table] == [(q, mu) for mu in MUS for q in RATES]
    assert written(table) == PATH.read_text("utf-8")
    assert PATH.stat().st_size < LARGEST_FILE
    for entry in table:
        assert len(entry.hint.blocks) == len(SHARES)
        assert list(kept_boxes(entry.hint.windows))
        assert list(kept_boxes(entry.hint.stairs))


def test_a_table_changed_by_hand_is_not_read() -> None:
    text = PATH.read_text("utf-8")
    for changed in (text.replace('"single": 0', '"single": 1', 1), text.replace("table-1", "table-2"), "[]", "{"):
        with pytest.raises(ValueError, match=r"table|Expecting"):
            read(changed)


def test_without_a_table_a_search_starts_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "entries", lambda: ())
    assert hint_for(0.1, 1.0) == Hint()


def test_a_step_far_from_the_grid_has_no_hint() -> None:
    assert hint_for(0.1, 1.5 * MUS[-1]) == Hint()
    assert hint_for(1e-9, MUS[0]) == entries()[0].hint


def test_a_search_with_a_hint_refines_it_and_holds_by_itself() -> None:
    """Between the steps of the grid: what the table halves is halved, and every box that is kept was tested."""
    q, mu = 0.03, (MUS[7] * MUS[8]) ** 0.5
    hint = hint_for(q, mu)
    found = found_certificate(q, mu, hint)
    check(found.ordering)
    assert halved_boxes(hint.windows) <= halved_boxes(found.ordering.windows)


@pytest.mark.slow
def test_a_hint_with_boxes_too_large_is_refined() -> None:
    """One box for everything, as a hint: the search halves it, and finds what it finds without a hint."""
    found = found_certificate(0.1, 1.0, dataclasses.replace(Hint(), windows="k", stairs="k")).ordering
    assert found.windows == found_certificate(0.1, 1.0).ordering.windows
    check(found)


@pytest.mark.slow
def test_a_random_part_of_the_table_is_found_again() -> None:
    """Another part each time: the same steps close again, and a certificate with its hint passes the check."""
    mu = random.SystemRandom().choice(MUS)
    table = [entry for entry in entries() if entry.mu == mu]
    assert [(entry.q, entry.mu) for entry in row(mu)] == [(entry.q, entry.mu) for entry in table]
    for entry in table:
        check(search.found_certificate(entry.q, entry.mu, entry.hint).ordering)
