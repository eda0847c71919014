"""The registry of statements that this project proves or refutes: text, place in the paper, status, evidence.

Nothing is imported here: the registry needs the solvers' extra (``pip install dpadmm[proofs]``), models do not.
"""
