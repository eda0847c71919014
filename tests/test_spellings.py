"""One spelling for a parameter: on the wire, in claim and ledger files, on the command line and in Python."""

from __future__ import annotations

import dataclasses

import click
import pytest
from click.testing import CliRunner

from accountant import Mechanism
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.registry import MECHANISMS
from accountant.mechanisms.words import Algorithm, Neighbours, Sampling
from audits.gate.claim_file import Claim
from dpadmm.cli import group
from dpadmm.cli.account import command as account
from dpadmm.cli.audit import command as audit
from dpadmm.cli.calibrate import NOISE
from dpadmm.cli.calibrate import command as calibrate
from dpadmm.cli.train import Choices
from verification.accountants.questions import AccountantQuestion
from verification.wire.declaration import Declaration, DeclaredSampling
from verification.wire.parameters import Parameters, RegularizerOptions

FIELDS = {name for kind in MECHANISMS.values() for name in fields_of(kind)}
OF_THE_PROBLEM = {"loss", "regularizer", "lambda_", "options", "intercept", "initial"}
"""What the wire says of the problem, which has no part in a price."""
OF_A_PRICE = {
    "effort",
    "rdp",
    "time_limit",
    "delta",
    "methods",
    "table",
    "method",
    "digits",
    "plot",
    "dp_event",
    "output_format",
    "quantity",
}
OF_EVERY_COMMAND = {"quiet", "verbose", "help_all"}
PRIVATE = [kind for kind in MECHANISMS.values() if kind.private]


def options(commands: click.Group, name: str) -> set[str]:
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    return {parameter.name for parameter in command.params if parameter.name is not None} - OF_EVERY_COMMAND


def test_every_parameter_on_the_wire_is_a_field_of_the_same_name() -> None:
    assert set(Parameters.model_fields) - OF_THE_PROBLEM <= FIELDS
    assert {"a", "gamma"} <= FIELDS & set(RegularizerOptions.model_fields)


def test_the_mechanisms_are_the_algorithms_of_the_wire_and_four_that_are_only_priced() -> None:
    assert set(MECHANISMS) - set(Algorithm) == {"gaussian", "poisson", "laplace", "pure"}
    assert set(Algorithm) <= set(MECHANISMS)


@pytest.mark.parametrize("kind", PRIVATE)
def test_the_options_of_account_are_the_fields_that_are_priced(kind: type[Mechanism]) -> None:
    priced = {name for name, field in fields_of(kind).items() if field.priced}
    assert options(account, kind.algorithm) - OF_A_PRICE == priced
    command = account.get_command(click.Context(account), kind.algorithm)
    assert command is not None
    for parameter in command.params:
        if parameter.name is not None and parameter.name in priced:
            assert parameter.opts == [f"--{parameter.name.replace('_', '-')}"]
            assert parameter.required == fields_of(kind)[parameter.name].required


@pytest.mark.parametrize("kind", PRIVATE)
def test_the_options_of_calibrate_are_the_same_and_the_target(kind: type[Mechanism]) -> None:
    assert options(calibrate, kind.algorithm) == options(account, kind.algorithm) - {
        "methods",
        "plot",
        "dp_event",
        "table",
        "rdp",
    } | {
        "epsilon",
        "method",
    } | ({"quantity"} if kind.calibrated != "epsilon" else set())
    assert kind.calibrated in NOISE
    assert kind.calibrated in fields_of(kind)


def test_commands_are_named_like_the_algorithms() -> None:
    names = {kind.algorithm for kind in PRIVATE}
    assert set(calibrate.list_commands(click.Context(calibrate))) == names
    assert set(account.list_commands(click.Context(account))) == names | {"ledger", "dp-event"}


def test_train_and_audit_use_the_same_names() -> None:
    """`train` also names the problem, the files and the target; what is left is a mechanism's."""
    others = {"loss", "regularizer", "lam", "l1_ratio", "groups", "matrix", "schedule", "delta", "intercept", "bounds"}
    others |= {"seed", "grid", "output_kind", "algorithm", "effort"}
    assert set(Choices.__dataclass_fields__) - others <= FIELDS
    named = {parameter.name for parameter in audit.params}
    assert {"algorithm", "release", "sensitivity", "released", "clip"} <= named


def test_an_option_of_another_mechanism_names_its_owner_and_a_misspelling_what_was_meant() -> None:
    alien = CliRunner().invoke(group, ["account", "ssadmm", "--inner", "3"])
    assert "inner belongs to dpsvrg, not to ssadmm" in alien.output
    misspelt = CliRunner().invoke(group, ["account", "ssadmm", "--iteration", "3"])
    assert "--iterations" in misspelt.output
    assert alien.exit_code == misspelt.exit_code == 2


def test_there_is_one_word_for_neighbours_and_one_for_sampling() -> None:
    declared = Declaration.model_fields
    assert declared["neighbours"].annotation is Claim.model_fields["neighbours"].annotation is Neighbours
    assert DeclaredSampling.model_fields["kind"].annotation is Sampling
    asked = {field.name: field.type for field in dataclasses.fields(AccountantQuestion)}
    assert (asked["sampling"], asked["neighbours"]) == ("Sampling", "Neighbours")
    spelt = {tuple(field.choices) for kind in MECHANISMS.values() for field in fields_of(kind).values()}
    assert {tuple(Neighbours), tuple(Sampling)} <= spelt
