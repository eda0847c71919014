r"""Proofs by two SMT solvers, about formulas that the reference's own functions make of symbols.

1. :mod:`~verification.smt.obligation` makes the symbols, and the reference's functions turn them into formulas. An
   :class:`~verification.smt.obligation.Obligation` is hypotheses, a goal, and a *sharper* goal that must be false: if
   the goal is weakened or the hypotheses become contradictory, the sharper goal becomes true and the check fails.
2. :mod:`~verification.smt.blocks`, :mod:`~verification.smt.updates` and :mod:`~verification.smt.algorithms` state them.
3. :mod:`~verification.smt.prover` asks two solvers, each in a process of its own with a hard limit. *Proved* means
   proved by both. A time-out is "unknown", never "proved".
"""
