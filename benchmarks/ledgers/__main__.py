r"""Random ledgers: `python -m benchmarks.ledgers [--until 2000] [--what price parts confirm] [--minutes M]`.

Every ledger becomes a line of `benchmarks/ledgers/record.jsonl`; what is there already is not computed again, so a run
may be interrupted (`--again INDEX ...` asks these anew). `python -m benchmarks.ledgers.page` writes
docs/evidence/random-ledgers.md from it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.ledgers.measuring import compare_parts, confirm, price

RECORD: Final = Path(__file__).with_name("record.jsonl")
NUMBER: Final = 2000
KINDS: Final = ("price", "parts", "confirm")
Line = dict[str, object]


def recorded(path: Path = RECORD) -> dict[int, Line]:
    """Return the lines by index."""
    if not path.exists():
        return {}
    lines: list[Line] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {int(str(line["index"])): line for line in lines}


def save(lines: dict[int, Line], path: Path = RECORD) -> None:
    """Write all lines in order, at once."""
    text = "".join(json.dumps(lines[index], allow_nan=True) + "\n" for index in sorted(lines))
    fresh = path.with_suffix(".new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


def measured(index: int, line: Line, kinds: list[str]) -> Line:
    """Return the line with what was still missing of these kinds."""
    line = {"index": index} | line
    certificate = ""
    if "price" not in line or ("confirm" in kinds and "confirm" not in line and _is_answered(line)):
        answer, certificate = price(index)
        line["price"] = dataclasses.asdict(answer)
    if "parts" in kinds and "parts" not in line:
        line["parts"] = dataclasses.asdict(compare_parts(index))
    if "confirm" in kinds and "confirm" not in line and _is_answered(line):
        line["confirm"] = dataclasses.asdict(confirm(certificate))
    return line


def _is_answered(line: Line) -> bool:
    answer = line.get("price")
    return not isinstance(answer, dict) or answer["code"] == 0


def main() -> int:
    """Measure what is missing; print what is wrong as it is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--until", type=int, default=NUMBER)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--what", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--again", nargs="*", type=int, default=[])
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    lines = recorded(options.record)
    for index in options.again:
        lines.pop(index, None)
    end = time.monotonic() + 60 * options.minutes
    for index in options.again or range(options.first, options.until, options.stride):
        before = lines.get(index, {})
        lines[index] = measured(index, before, options.what)
        if lines[index] != before:
            save(lines, options.record)
            print(json.dumps(lines[index]), flush=True)
        if time.monotonic() > end:
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
