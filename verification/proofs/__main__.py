"""``python -m verification.proofs``: check all theorems, and the definitions against the reference."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from verification.proofs.check import ProofReport, checked
from verification.proofs.coq import MISSING, Coq
from verification.proofs.link import linked


def _lines(report: ProofReport) -> Iterator[str]:
    for verdict in report.verdicts.values():
        word = "FAILS " if verdict.fault else "proved"
        settles = ", ".join(verdict.theorem.settles) or "-"
        yield f"{word}  {verdict.theorem.file}.{verdict.theorem.name}  [{settles}]  {verdict.theorem.says}"
        if verdict.fault:
            yield f"        {verdict.fault}"
    yield from (f"FAULT   {fault}" for fault in report.faults)
    axioms = sorted({axiom for verdict in report.verdicts.values() for axiom in verdict.axioms})
    yield "axioms: " + (", ".join(axioms) or "none")


def main() -> int:
    """Print every theorem with its verdict; 0 only if all stand."""
    if not Coq.installed():
        sys.stderr.write(f"{MISSING}\n")
        return 3
    started = time.monotonic()
    report, link = checked(), linked()
    sys.stdout.write("\n".join((*_lines(report), link.summary())) + "\n")
    total = len(report.verdicts)
    standing = sum(1 for verdict in report.verdicts.values() if not verdict.fault)
    stands = report.stands and link.agrees
    seconds = time.monotonic() - started
    sys.stdout.write(
        f"{standing} of {total} theorems stand, Coq {report.version}, {seconds:.0f} s"
        + ("\n" if stands else ": NOT ALL IS AS THE TABLE SAYS\n")
    )
    return 0 if stands else 1


if __name__ == "__main__":
    sys.exit(main())
