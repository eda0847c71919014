"""Theorems in Coq (``*.v``), the table of what each must state (``theorems/*.toml``), and the checks of both.

``make proofs``, or ``python -m verification.coq``: compile every file, compare every theorem with its statement in
the table, print the axioms it rests on, and compare the Coq definitions with the Python reference on rationals.
"""
