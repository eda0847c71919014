"""Audits of unknown code: a claim, a command, a library of neighbours, and nothing else."""
