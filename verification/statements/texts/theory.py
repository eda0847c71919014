"""The theory of privacy on which accounting and audits rest; Coq proves these statements for every integral."""

from __future__ import annotations

from verification.statements.evidence import finite_laws, finite_steps
from verification.statements.model import Statement, Status

STATEMENTS = (
    Statement(
        "HOCKEY-STICK",
        "H_y(P||Q) is jointly convex, falls under post-processing, and equals 1 - y + y H_{1/y}(Q||P).",
        "used throughout the accounting; not in the paper",
        Status.PROVED,
        (finite_laws.divergence_laws(),),
    ),
    Statement(
        "TESTS",
        "H_y is the largest P(S) - y Q(S) of any test of any post-processing; the likelihood-ratio test attains it.",
        "what the audits bet against; not in the paper",
        Status.PROVED,
        (finite_laws.best_test(),),
    ),
    Statement(
        "SUBSAMPLING",
        "A batch of m of n without replacement turns (e^eps, delta) into (1 + q(e^eps - 1), q delta), with q = m/n.",
        "behind D; Balle, Barthe and Gaboardi 2018, for one replaced record",
        Status.PROVED,
        (finite_laws.amplification(),),
    ),
    Statement(
        "TRIPLES",
        "A noisy sum over a batch costs at most the worst triple (1-q)N(c)+qN(a) against (1-q)N(c)+qN(a').",
        "sharper than D; not in the paper",
        Status.PROVED,
        (finite_laws.triples(),),
    ),
    Statement(
        "COMPOSITION",
        "If a list of profiles dominates every step whatever the past, its worst product dominates T adaptive steps.",
        "behind L; not in the paper",
        Status.PROVED,
        (finite_steps.composition(),),
    ),
    Statement(
        "GRID-RECURSION",
        "The recursion may be computed at grid points, with chords between; its rounding errors add up.",
        "behind L; not in the paper",
        Status.PROVED,
        (finite_steps.grid_recursion(),),
    ),
    Statement(
        "CERTIFICATE",
        "Finitely many inequalities at nodes imply that a list of piecewise linear profiles dominates a step at all y.",
        "not in the paper",
        Status.PROVED,
        (finite_steps.certificate(),),
    ),
    Statement(
        "VILLE",
        "Betting against a true claim reaches 1/alpha in any number of rounds with probability at most alpha.",
        "why a refutation by an audit is one; not in the paper",
        Status.PROVED,
        (finite_steps.betting(),),
    ),
)
