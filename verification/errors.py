"""What verification refuses, and which exit code each refusal has at the command line."""

from __future__ import annotations


class VerificationError(ValueError):
    """Base of every refusal by verification; bad input, hence exit code 2 at the command line."""

    exit_code = 2


class UnknownStatement(VerificationError):
    """A statement id that the registry does not hold."""


class BadVectors(VerificationError):
    """A vector file that breaks its schema, is truncated, stale or of an unknown version; the message says where."""


class SolverFault(RuntimeError):
    """A solver that died or answered nonsense: neither a proof nor a refutation, but a fault of this program."""

    exit_code = 70


class BadProofTable(VerificationError):
    """A table of theorems that breaks its form; the message says where."""
