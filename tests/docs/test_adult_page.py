"""The page of Adult is what its kept measurement gives, and the measurement keeps the promises."""

from __future__ import annotations

import json

from benchmarks.bench_adult import KEPT, PAGE, broken, page


def test_the_page_is_made_from_what_was_measured() -> None:
    assert PAGE.read_text("utf-8") == page(json.loads(KEPT.read_text("utf-8")))


def test_the_promises_are_kept_and_a_broken_one_is_named() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    assert broken(kept) == []
    for row in kept["rows"]:
        if row["name"] == "mpADMM":
            row["accuracies"] = [0.76]
    assert broken(kept) == ["mpADMM reaches .82"]
