r"""Proofs that run the reference's own functions on symbols.

1. :mod:`~verification.lemmas.terms` makes the symbols, and the reference's functions turn them into formulas.
2. :class:`~verification.lemmas.obligation.Obligation` is hypotheses, a goal, and a *sharper* goal that must be false:
   if the goal is weakened or the hypotheses become contradictory, the sharper goal becomes true and the check fails.
3. :mod:`~verification.lemmas.splitting` cuts a goal into cases, :mod:`~verification.lemmas.clearing` multiplies out
   denominators that were proved positive.
4. :mod:`~verification.lemmas.prover` asks two solvers, each in a process of its own with a hard time limit. *Proved*
   means proved by both. A time-out is "unknown", never "proved".
"""
