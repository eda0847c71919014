"""The exact adversary: a certified epsilon close to what an adaptive adversary attains on fixed-size batches.

`method.adversary_epsilon` is the entrance; docs/reference/adversary.md has the theorem and its proof.
"""
