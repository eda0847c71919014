"""What the accountant refuses, one class a reason.

Every class derives from `AccountantError`, a `ValueError`, and names its exit code at the command line.
"""

from __future__ import annotations


class AccountantError(ValueError):
    """The accountant has no answer it could stand for; the message says what would be right."""

    exit_code: int = 2


class InvalidQuantityError(AccountantError):
    """A parameter is outside the domain of the theorem."""


class BinaryFloatError(InvalidQuantityError):
    """A binary float was given where the exact value matters."""


class UnsupportedSchemeError(AccountantError):
    """A sampling scheme, neighbouring relation or noise that the method was not proved for."""


class CannotCertifyError(AccountantError):
    """The computation did not reach the precision that was asked for, so nothing is reported."""

    exit_code = 3


class TimeLimitError(CannotCertifyError):
    """The time is up: what was found so far is the answer."""


class CertificateError(AccountantError):
    """A certificate says something that its own inputs do not support."""

    exit_code = 1


class NotPrivateError(AccountantError):
    """The mechanism adds no noise: its epsilon is infinite."""
