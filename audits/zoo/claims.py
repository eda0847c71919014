"""A claim file for a member: an honest claim about the mechanism that it pretends to run.

The epsilon in it is what the accountant certifies, so the claim itself stands; whatever a gate refutes is the
implementation's doing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

from accountant import decimal_string, epsilon
from accountant.numbers import fraction_of
from audits.gate.account_stage import ledger_of
from audits.gate.claim_file import NEEDS, MechanismTable, Released
from audits.zoo.specimen import Member, Sight
from verification.wire.parameters import Algorithm

_DELTA = "1e-6"
_DIGITS = 6
_ORDINARY: dict[str, object] = {
    "batch": 100,
    "sampling": "without-replacement",
    "clip": "0.5",
    "sigma": "0.05",
    "eta": "4",
    "rho": "0.5",
    "parties": 2,
    "inner": 5,
    "sigma_full": "0.05",
    "epsilon_iteration": "0.1",
}


def claim_file(member: Member, sight: Sight, *, budget: str = "60s") -> str:
    """The text of a claim file for `dpadmm gate`: every algorithm of the member, and one epsilon for all of them."""
    mechanisms = [mechanism_of(member, algorithm, sight) for algorithm in member.algorithms]
    prices = [fraction_of(epsilon(ledger_of(mechanism), _DELTA).epsilon.upper) for mechanism in mechanisms]
    lines = [
        f"# The zoo's {member.identity}, shown as {sight}: {member.wrong}",
        "[claim]",
        f'epsilon = "{decimal_string(max(prices), _DIGITS, "up")}"',
        f'delta = "{_DELTA}"',
        'neighbours = "replace-one"',
    ]
    for mechanism in mechanisms:
        lines += ["", "[[mechanism]]", *_lines(mechanism)]
    command = ", ".join(f'"{word}"' for word in (sys.executable, "-m", "audits.zoo", member.identity, sight))
    lines += ["", "[implementation]", f"command = [{command}]", "", "[gate]", f'budget = "{budget}"']
    return "\n".join(lines) + "\n"


def mechanism_of(member: Member, algorithm: Algorithm, sight: Sight) -> MechanismTable:
    """What the member pretends to run, at an ordinary size: a gate chooses for itself where to attack."""
    released = Released.LAST_MODEL if sight is Sight.LAST_MODEL else Released.EVERY_ITERATE
    ordinary: dict[str, object] = {**_ORDINARY, "release": str(member.claims.release)}
    own = {name: ordinary[name] for name in NEEDS[algorithm]}
    common: dict[str, object] = {"records": 1000, "iterations": 20, "released": released}
    return MechanismTable.model_validate({"algorithm": str(algorithm), **common, **own})


def _lines(mechanism: MechanismTable) -> Iterator[str]:
    for key in type(mechanism).model_fields:
        value: object = getattr(mechanism, key)
        if isinstance(value, Fraction):
            yield f'{key} = "{decimal_string(value, _DIGITS, "up")}"'
        elif isinstance(value, int):
            yield f"{key} = {value}"
        elif value is not None:
            yield f'{key} = "{value}"'
