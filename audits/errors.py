"""What can go wrong in an audit, each with the exit code the command line gives it."""

from __future__ import annotations


class AuditError(ValueError):
    """Base of all errors of this package: the input is wrong (exit code 2)."""

    exit_code = 2


class ClaimFileError(AuditError):
    """A claim file that cannot mean anything: unknown key, impossible value, expired waiver."""


class ContradictionError(AuditError):
    """A declaration that no run could make true (exit code 2, before anything is run)."""


class NothingToAudit(AuditError):
    """The implementation offers nothing that an audit could be run on (exit code 3: nothing was checked)."""

    exit_code = 3


class NothingClaimed(NothingToAudit):
    """The algorithm is not private and says so: an audit stands exactly if the claim is an infinite epsilon."""


class NoPower(NothingToAudit):
    """No violation within reach would show in any number of trials that can be run (exit code 3: inconclusive)."""


class CheckpointError(AuditError):
    """A checkpoint that belongs to another audit, or that was damaged."""


class AuditFault(RuntimeError):
    """This package failed on its own account (exit code 70): never to be read as a pass."""

    exit_code = 70


class EvidenceError(AuditError):
    """Kept evidence that cannot be read, or does not fit its finding."""
