"""What `python -m benchmarks.ledgers` recorded: no fault, nothing false, nothing too long or too large."""

from __future__ import annotations

from benchmarks.ledgers.__main__ import RECORD, recorded
from benchmarks.ledgers.page import MOST_MEBIBYTES, MOST_SECONDS, PAGE, ROUNDING, page

LINES = recorded()


def part(line: dict[str, object], name: str) -> dict[str, object]:
    value = line.get(name, {})
    assert isinstance(value, dict)
    return value


def test_there_is_a_record_and_the_page_follows_from_it() -> None:
    assert RECORD.exists()
    assert LINES
    assert PAGE.read_text("utf-8") == page(LINES)


def test_no_ledger_ends_in_a_fault_or_takes_too_much() -> None:
    for index, line in LINES.items():
        price = part(line, "price")
        assert price["code"] in {0, 3}, index  # 3: nothing could be certified in the time that was given
        assert float(str(price["seconds"])) <= MOST_SECONDS, index
        assert int(str(price["mebibytes"])) <= MOST_MEBIBYTES, index


def test_no_end_is_false_and_no_lower_end_is_below_that_of_a_sub_ledger() -> None:
    for index, line in LINES.items():
        if "parts" in line:
            assert not float(str(part(line, "parts")["margin"])) < ROUNDING, index
        if "confirm" in line:
            assert part(line, "confirm")["code"] == 0, index
            assert not str(part(line, "confirm")["said"]).startswith("refuted"), index
