"""``python -m verification.coq``: check all theorems, and the definitions against the reference.

``python -m verification.coq --list`` prints what ``names.toml`` would have to say for the table as it is. That file is
kept by hand: a line is changed there only by who means to change what is promised.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from verification.coq.check import ProofReport, checked
from verification.coq.coq import MISSING, Coq
from verification.coq.link import linked
from verification.coq.table import names_text, read

HEADLINES = (
    *("mpADMM_is_private", "ssADMM_is_private"),  # Theorems 3 and 1 of the paper, corrected, end to end
    *("mpADMM_with_clipping_is_private", "mpADMM_primal_with_clipping_is_private", "ssADMM_with_clipping_is_private"),
)


def _in_full(report: ProofReport) -> Iterator[str]:
    """The end-to-end theorems, word for word, with what each rests on."""
    for verdict in (report.verdicts[name] for name in HEADLINES):
        yield f"\n{verdict.theorem.file}.{verdict.theorem.name}: {verdict.theorem.says}"
        yield verdict.theorem.statement.strip()
        yield "rests on " + (verdict.fault or ", ".join(verdict.axioms) or "no axiom")


def _lines(report: ProofReport) -> Iterator[str]:
    for verdict in report.verdicts.values():
        word = "FAILS " if verdict.fault else "proved"
        settles = ", ".join(verdict.theorem.settles) or "-"
        yield f"{word}  {verdict.theorem.file}.{verdict.theorem.name}  [{settles}]  {verdict.theorem.says}"
        if verdict.fault:
            yield f"        {verdict.fault}"
    yield from (f"FAULT   {fault}" for fault in report.faults)
    yield from filter(None, [report.undecided])
    axioms = sorted({axiom for verdict in report.verdicts.values() for axiom in verdict.axioms})
    yield "axioms of all together: " + (", ".join(axioms) or "none")


def main() -> int:
    """Print every theorem with its verdict; 0 only if all stand, 3 where Coq did not end in time."""
    if "--list" in sys.argv[1:]:
        sys.stdout.write(names_text(read()))
        return 0
    if not Coq.installed():
        sys.stderr.write(f"{MISSING}\n")
        return 3
    started = time.monotonic()
    report, link = checked(), linked()
    sys.stdout.write("\n".join((*_lines(report), link.summary(), *_in_full(report))) + "\n\n")
    total = len(report.verdicts)
    standing = sum(1 for verdict in report.verdicts.values() if not verdict.fault)
    stands = report.stands and link.agrees
    seconds = time.monotonic() - started
    sys.stdout.write(
        f"{standing} of {total} theorems stand, Coq {report.version}, {seconds:.0f} s"
        + ("\n" if stands else ": NOT ALL IS AS THE TABLE SAYS\n")
    )
    if report.undecided or (link.undecided and not report.faults):
        return 3
    return 0 if stands else 1


if __name__ == "__main__":
    sys.exit(main())
