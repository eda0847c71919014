"""What an experiment refuses."""

from __future__ import annotations


class ExperimentError(ValueError):
    """Base of every refusal here: bad input, hence exit code 2 at the command line."""

    exit_code = 2


class ConfigError(ExperimentError):
    """A study file that does not say what is to be run."""


class DataError(ExperimentError):
    """Records that are missing, altered, or not in the expected layout."""


class OutputError(ExperimentError):
    """A folder that cannot hold the results: found before any work is done."""


class NothingToShow(ExperimentError):
    """No results where some were expected: inconclusive, not a success."""

    exit_code = 3
