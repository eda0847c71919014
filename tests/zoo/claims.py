"""A claim file for a member: an honest claim about the mechanism that it pretends to run.

The epsilon in it is what the accountant certifies, so the claim itself stands; whatever a gate refutes is the
implementation's doing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

from accountant import Mechanism, decimal_string, epsilon, mechanism_from
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.registry import MECHANISMS
from accountant.mechanisms.words import Algorithm, Visibility
from accountant.numbers import fraction_of
from tests.zoo.specimen import Member, Sight

_DELTA = "1e-6"
_DIGITS = 6
_ORDINARY: dict[str, object] = {
    "records": 1000,
    "iterations": 20,
    "batch": 100,
    "sampling": "without-replacement",
    "clip": "0.5",
    "sigma": "0.05",
    "eta": "4",
    "rho": "0.5",
    "parties": 2,
    "inner": 5,
    "anchor_sigma": "0.05",
    "epsilon": "0.1",
}


def claim_file(member: Member, sight: Sight, *, budget: str = "60s", false_alarm: str = "1e-3") -> str:
    """The text of a claim file for `dpadmm gate`: every algorithm of the member, and one epsilon for all of them."""
    mechanisms = [mechanism_of(member, algorithm, sight) for algorithm in member.algorithms]
    prices = [fraction_of(epsilon(mechanism, _DELTA).epsilon.upper) for mechanism in mechanisms]
    lines = [
        f"# The zoo's {member.identity}, shown as {sight}: {member.wrong}",
        "[claim]",
        f'epsilon = "{decimal_string(max(prices), _DIGITS, "up")}"',
        f'delta = "{_DELTA}"',
        'neighbours = "replace-one"',
    ]
    for mechanism in mechanisms:
        lines += ["", "[[mechanism]]", *_lines(mechanism), f"columns = {member.claims.columns}"]
    command = ", ".join(f'"{word}"' for word in (sys.executable, "-m", "tests.zoo", member.identity, sight))
    lines += ["", "[implementation]", f"command = [{command}]", "", "[gate]", f'budget = "{budget}"']
    lines += [f'false_alarm = "{false_alarm}"']
    return "\n".join(lines) + "\n"


def mechanism_of(member: Member, algorithm: Algorithm, sight: Sight) -> Mechanism:
    """What the member pretends to run, at an ordinary size: a gate chooses for itself where to attack."""
    seen = Visibility.LAST_MODEL if sight is Sight.LAST_MODEL else Visibility.EVERY_ITERATE
    ordinary: dict[str, object] = {**_ORDINARY, "release": str(member.claims.release), "released": seen}
    setting = member.claims
    if setting.records > 1000:
        # a member that shows at its own size only
        ordinary |= {"records": setting.records, "iterations": len(setting.eta), "batch": setting.batch}
        ordinary |= {"sigma": str(setting.sigma), "clip": str(setting.bound)}
    fields = fields_of(MECHANISMS[algorithm])
    return mechanism_from({"algorithm": str(algorithm), **{n: v for n, v in ordinary.items() if n in fields}})


def _lines(mechanism: Mechanism) -> Iterator[str]:
    yield f'algorithm = "{mechanism.algorithm}"'
    for key in fields_of(type(mechanism)):
        value: object = getattr(mechanism, key)
        if isinstance(value, tuple):
            (value,) = value
        if isinstance(value, Fraction):
            yield f'{key} = "{decimal_string(value, _DIGITS, "up")}"'
        elif isinstance(value, int):
            yield f"{key} = {value}"
        elif value is not None:
            yield f'{key} = "{value}"'
