"""docs/evidence/proofs.md: what is proved, what is assumed, and which kinds of evidence each statement has."""

from __future__ import annotations

import re
from itertools import groupby

from verification.proofs.check import ALLOWED
from verification.proofs.table import FOLDER, Theorem, TheoremTable, read
from verification.statements.model import Kind, Statement
from verification.statements.registry import STATEMENTS

_INTRODUCTION = """# Proofs

The SMT solvers prove statements about single coordinates. The theorems here are about vectors of any length, any
convex regularizer, any number of records and steps. They are checked by Coq 8.16 or later, with nothing but its
standard library: `make proofs` installs Coq where it is missing (Debian, Ubuntu), compiles every file of
`verification/proofs`, compares each theorem with the statement written for it in `verification/proofs/theorems/*.toml`,
lists the axioms, and compares the Coq definitions with the Python reference. `dpadmm verify` does the same; without
Coq it says "proof not re-checked here", and the statement counts as undecided.

## What makes a theorem count

- Its file compiles and contains nothing that asserts without proof (`Admitted`, `Axiom`, `Parameter`, a switched-off
  check of the kernel, a variable outside a section).
- Coq accepts the theorem as a proof of the statement in the table, which is written apart from it and in full: a
  constant that is doubled in the theorem no longer matches. The definitions in these statements are pinned in the
  same way.
- `Print Assumptions` lists no axiom beyond those of Coq's real numbers: {axioms}.
- The definitions of the algorithm (soft threshold and the other proximal maps, the updates of x, z and y, clipping, the
  gradient of the huberized hinge, an epoch of Algorithm 2) are written once for any number system. On rationals Coq
  computes them, and they must *equal* the shipped Python functions run on `fractions.Fraction`, at several hundred
  random inputs. `Rationals.v` proves that the rational and the real formulas have the same values.

## What is assumed

The theory of privacy has [a list of its own](proofs-privacy.md). In short:

- **The noise is exactly Gaussian** (or the discrete Gaussian where a grid is used), and independent. What is drawn in
  floating point is tested, not proved: [conformance](../reference/protocol.md), [audits](../reference/auditing.md).
- **Batches are uniform** among all sets of m records, and independent of each other.
- **Facts about Gaussian tails** are not proved in Coq: normal distribution functions, divergences and their integrals
  are enclosed in ball arithmetic ([accounting](../reference/accounting.md)).
- **Real arithmetic.** The theorems are about real numbers; how far binary64 departs from them is bounded by
  the ball arithmetic behind [the golden vectors](../guides/golden-vectors.md).
- **Equality on random rationals is a test**, not a proof, that the Python functions are the Coq definitions. The
  logistic loss, the group and nuclear norms need exponentials or roots and are not in that comparison; theorems that
  hold for every convex regularizer and every bounded gradient cover them.
- Coq's kernel, and the four axioms above (classical logic and extensionality of functions, as Coq's reals need them).

## Which evidence each statement has

*SMT*: obligations proved by z3 and cvc5 about the shipped functions. *Coq*: theorems below. *Enclosure*: exact or ball
arithmetic. *Attack*: a search for the worst case. *Witness*: a counterexample that the reference reproduces, or places
of the paper that contradict each other. A number counts pieces of evidence; `dpadmm explain ID` names them.

| statement | SMT | Coq | enclosure | attack | witness |
|---|---|---|---|---|---|
{rows}

## The theorems

{theorems}"""


def proofs_text() -> str:
    """The whole page."""
    table = read()
    rows = "\n".join(_row(statement, table) for statement in STATEMENTS)
    by_file = groupby(sorted(table.theorem, key=lambda theorem: theorem.file), key=lambda theorem: theorem.file)
    theorems = "\n".join(_file(name, list(entries)) for name, entries in by_file)
    axioms = ", ".join(f"`{axiom}`" for axiom in sorted(ALLOWED))
    return _INTRODUCTION.format(axioms=axioms, rows=rows, theorems=theorems)


def _row(statement: Statement, table: TheoremTable) -> str:
    obligations = sum(len(e.obligations()) for e in statement.evidence if e.kind is Kind.PROOF and e.obligations)
    kinds = [evidence.kind for evidence in statement.evidence]
    counts = [
        obligations,
        len(table.of_statement(statement.id)),
        kinds.count(Kind.ENCLOSURE),
        kinds.count(Kind.ATTACK),
        kinds.count(Kind.WITNESS) + kinds.count(Kind.QUOTATION),
    ]
    cells = " | ".join(str(count) if count else "" for count in counts)
    return f"| [{statement.id}](statements.md#{statement.id.lower()}) | {cells} |"


def _file(name: str, theorems: list[Theorem]) -> str:
    lines = [f"### {name}.v", "", _opening(name), "", "| theorem | says | settles |", "|---|---|---|"]
    for theorem in theorems:
        says = theorem.says.replace("|", "\\|")
        lines.append(f"| `{theorem.name}` | {says} | {', '.join(theorem.settles)} |")
    return "\n".join([*lines, ""])


def _opening(name: str) -> str:
    """The comment that a file opens with."""
    comment = re.match(r"\(\*\*?(.*?)\*\)", (FOLDER / f"{name}.v").read_text("utf-8"), re.DOTALL)
    if comment is None:
        raise ValueError(f"{name}.v does not open with a comment that says what it is about")
    text = re.sub(r"\s+", " ", comment[1]).strip()
    return re.sub(r"\[([A-Za-z_. ]+)\]", r"`\1`", text.replace("[CL20]", "CL20")).replace("CL20", "[CL20]")
