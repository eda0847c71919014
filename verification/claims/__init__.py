"""The registry of claims: statement, place in the paper, status, and evidence that runs.

Nothing is imported here: the registry needs the solvers' extra (``pip install dpadmm[proofs]``), models do not.
"""
