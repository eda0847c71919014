r"""Random ledgers: `python -m benchmarks.ledgers [--first 0] [--until 2000] [--stride 1] [--budget 90m]`.

Every ledger becomes a line of `benchmarks/ledgers/record.jsonl`; what is there already is not computed again, so a run
may be interrupted (`--again INDEX ...` asks these anew). `python -m benchmarks.ledgers.page` writes
docs/evidence/random-ledgers.md from it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.ledgers.measuring import confirm, price
from dpadmm.cli.common import Duration

RECORD: Final = Path(__file__).with_name("record.jsonl")
NUMBER: Final = 2000
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


def measured(index: int) -> Line:
    """Return the line of a ledger."""
    answer, parts, certificate = price(index)
    line: Line = {"index": index, "price": dataclasses.asdict(answer)}
    if parts is not None:
        line["parts"] = dataclasses.asdict(parts)
    if answer.code == 0:
        line["confirm"] = dataclasses.asdict(confirm(certificate))
    return line


def _is_incomplete(line: Line) -> bool:
    """Say whether a ledger was priced, by earlier code, and its parts were not looked at."""
    answer = line["price"]
    return isinstance(answer, dict) and answer["code"] == 0 and "parts" not in line


def main() -> int:
    """Measure what is missing; print what is wrong as it is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--until", type=int, default=NUMBER)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--again", nargs="*", type=int, default=[])
    parser.add_argument("--budget", type=Duration(), default=math.inf, help="90s, 5m: then no ledger is begun")
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    lines = recorded(options.record)
    for index in options.again:
        lines.pop(index, None)
    end = time.monotonic() + options.budget
    for index in options.again or range(options.first, options.until, options.stride):
        if index not in lines or _is_incomplete(lines[index]):
            lines[index] = measured(index)
            save(lines, options.record)
            print(json.dumps(lines[index]), flush=True)
        if time.monotonic() > end:
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
