"""One spelling for a parameter: on the wire, in claim and ledger files, on the command line and in Python."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from accountant import InvalidQuantityError, Mechanism
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.ledger_file import read_ledger_file
from accountant.mechanisms.registry import FORMER_ALGORITHMS, FORMER_FIELDS, MECHANISMS, mechanism_from
from accountant.mechanisms.words import Algorithm, Neighbours, Sampling
from audits.errors import ClaimFileError
from audits.gate.claim_file import TEMPLATE, Claim, read_claim_file
from dpadmm.cli import group
from dpadmm.cli.account import command as account
from dpadmm.cli.audit import command as audit
from dpadmm.cli.calibrate import NOISE
from dpadmm.cli.calibrate import command as calibrate
from dpadmm.cli.train_options import Choices
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
    "method",
    "digits",
    "plot",
    "dp_event",
    "output_format",
    "quantity",
}
OF_EVERY_COMMAND = {"quiet", "verbose"}
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
        "effort",
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
    others |= {"seed", "grid", "output_kind", "algorithm"}
    assert set(Choices.__dataclass_fields__) - others <= FIELDS
    named = {parameter.name for parameter in audit.params}
    assert {"algorithm", "release", "sensitivity", "released", "clip"} <= named
    assert named & set(FORMER_FIELDS) == set()


@pytest.mark.parametrize("command", ["account", "calibrate"])
@pytest.mark.parametrize(("former", "now"), FORMER_ALGORITHMS.items())
def test_old_commands_name_the_new_one(command: str, former: str, now: str) -> None:
    outcome = CliRunner().invoke(group, [command, former, "--records", "10"])
    assert outcome.exit_code == 2
    assert f"{former} is now called {now}" in outcome.output


@pytest.mark.parametrize(
    ("command", "former", "now"),
    [
        ("experiment all", "--jobs", "--workers"),
        ("experiment all", "--minutes", "--budget"),
        ("audit --black-box", "--minutes", "--budget"),
        ("audit", "--bounds", "--lower-bounds"),
        ("vectors generate", "--output", "--out"),
    ],
)
def test_options_of_one_meaning_have_one_name(command: str, former: str, now: str) -> None:
    outcome = CliRunner().invoke(group, [*command.split(), former, "1"])
    assert outcome.exit_code == 2
    assert f"{former} is now called {now}" in outcome.output
    assert f"{former} " not in CliRunner().invoke(group, [*command.split()[:2], "--help"]).output


@pytest.mark.parametrize("former", ["epochs", "releases", "sigma_full", "sigma_inner", "regularizer", "shape"])
def test_old_options_name_the_new_one(former: str) -> None:
    option = f"--{former.replace('_', '-')}"
    for name in ("mpadmm", "dpsvrg", "gaussian"):
        outcome = CliRunner().invoke(group, ["account", name, option, "1"])
        assert outcome.exit_code == 2
        assert f"{option}: {former} is now called {FORMER_FIELDS[former]}"[:60] in " ".join(outcome.output.split())


def test_an_option_of_another_mechanism_names_its_owner_and_a_misspelling_what_was_meant() -> None:
    alien = CliRunner().invoke(group, ["account", "ssadmm", "--inner", "3"])
    assert "inner belongs to dpsvrg, not to ssadmm" in alien.output
    misspelt = CliRunner().invoke(group, ["account", "ssadmm", "--iteration", "3"])
    assert "--iterations" in misspelt.output
    assert alien.exit_code == misspelt.exit_code == 2


@pytest.mark.parametrize(
    ("now", "former", "message"),
    [
        ("iterations = 2210", "epochs = 2210", "epochs is now called iterations"),
        ('sigma = "0.0136"', 'sigma_full = "0.0136"', "sigma_full is now called anchor_sigma"),
        ('sigma = "0.0136"', 'epsilon_iteration = "0.0136"', "epsilon_iteration is now called epsilon"),
        ('algorithm = "ssadmm"', 'algorithm = "dp-sgd"', "'dp-sgd' is now called 'dpsgd'"),
    ],
)
def test_old_spellings_in_a_claim_file_name_the_new_one(tmp_path: Path, now: str, former: str, message: str) -> None:
    assert now in TEMPLATE
    path = tmp_path / "claim.toml"
    path.write_text(TEMPLATE.replace(now, former, 1))
    with pytest.raises(ClaimFileError, match=message):
        read_claim_file(path)


def test_old_spellings_in_a_ledger_file_name_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    for text, message in (
        ('mechanism = "gaussian"', "step 1: algorithm is needed.*mechanism is now called algorithm"),
        ('algorithm = "gaussian"\nnoise_multiplier = 2\ncount = 3', "step 1: count is now called iterations"),
        ('algorithm = "admm-objp"', "step 1: algorithm 'admm-objp' is now called 'objp'"),
    ):
        path.write_text(f"[[step]]\n{text}\n")
        with pytest.raises(InvalidQuantityError, match=message):
            read_ledger_file(path)


def test_there_is_one_word_for_neighbours_and_one_for_sampling() -> None:
    declared = Declaration.model_fields
    assert declared["neighbours"].annotation is Claim.model_fields["neighbours"].annotation is Neighbours
    assert DeclaredSampling.model_fields["kind"].annotation is Sampling
    asked = {field.name: field.type for field in dataclasses.fields(AccountantQuestion)}
    assert (asked["sampling"], asked["neighbours"]) == ("Sampling", "Neighbours")
    spelt = {tuple(field.choices) for kind in MECHANISMS.values() for field in fields_of(kind).values()}
    assert {tuple(Neighbours), tuple(Sampling)} <= spelt


@pytest.mark.parametrize(("former", "now"), [("fixed-size", "without-replacement"), ("none", "all")])
def test_old_words_for_sampling_name_the_new_one(former: str, now: str) -> None:
    message = f"'{former}' is now called '{now}'"
    with pytest.raises(ValidationError, match=message):
        DeclaredSampling.model_validate_json(f'{{"kind": "{former}"}}')
    with pytest.raises(ValidationError, match="scheme is now called kind"):
        DeclaredSampling.model_validate_json(f'{{"scheme": "{now}"}}')
    with pytest.raises(InvalidQuantityError, match=message):
        mechanism_from({"algorithm": "ssadmm", "records": 9, "batch": 3, "iterations": 1, "sampling": former})
    outcome = CliRunner().invoke(group, ["account", "ssadmm", "--sampling", former])
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_old_words_for_neighbours_name_the_new_one(tmp_path: Path) -> None:
    message = "'add-or-remove-one' is now called 'add-or-remove'"
    path = tmp_path / "claim.toml"
    path.write_text(TEMPLATE.replace('"replace-one"', '"add-or-remove-one"', 1))
    with pytest.raises(ClaimFileError, match=message):
        read_claim_file(path)
    with pytest.raises(InvalidQuantityError, match=message):
        mechanism_from({"algorithm": "laplace", "noise_multiplier": 1, "neighbours": "add-or-remove-one"})
    for command in (["account", "laplace"], ["audit", "--black-box"]):
        outcome = CliRunner().invoke(group, [*command, "--neighbours", "add-or-remove-one"])
        assert outcome.exit_code == 2
        assert message in outcome.output
    former = CliRunner().invoke(group, ["account", "pure", "--relation", "replace-one"])
    assert "relation is now called neighbours" in former.output
