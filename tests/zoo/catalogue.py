"""Every implementation that the tests keep, by room: what is wrong, and what is honest but different.

``python -m tests.zoo list`` prints it. A room's module serves its entries (``python -m MODULE NAME``); the
declared ones are run by the tests that import them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo import MEMBERS, PRODUCTION, accountants, black_box
from tests.zoo.conformance import different, wrong, wrong_baselines, wrong_draws
from tests.zoo.declared import pairs, strangers
from tests.zoo.honest import hidden, in_other_ways, other_updates, outsiders, refusing, same_claim, variants
from tests.zoo.vectors import wrong as wrong_steps
from tests.zoo.vectors import wrong_baselines as wrong_baseline_steps
from verification.served.stepwise import Stepwise


def catalogue() -> Iterator[tuple[str, str]]:
    """Module and name of every implementation; the mistakes of `declared.wrong` apply to every declared example."""
    rooms = {
        "tests.zoo": [*MEMBERS, *PRODUCTION],
        "tests.zoo.black_box": [subject.identity for subject in (*black_box.WRONG, *black_box.HONEST)],
        "tests.zoo.conformance.wrong": [
            kind.__name__
            for module in (wrong, wrong_draws, wrong_baselines)
            for kind in vars(module).values()
            if isinstance(kind, type) and issubclass(kind, Stepwise) and kind.__module__ == module.__name__
        ],
        "tests.zoo.conformance.different": list(different.DIFFERENT),
        "tests.zoo.vectors.wrong": [kind.__name__ for kind in wrong_steps.WRONG],
        "tests.zoo.vectors.wrong_baselines": [kind.__name__ for kind in wrong_baseline_steps.WRONG_BASELINES],
        "tests.zoo.declared.strangers": [*strangers.HONEST, *strangers.WRONG],
        "tests.zoo.declared.pairs": list(pairs.PAIRS),
        "tests.zoo.honest.variants": list(variants.VARIANTS),
        "tests.zoo.honest.other_updates": list(other_updates.VARIANTS),
        "tests.zoo.honest.same_claim": [*same_claim.HONEST, *same_claim.TWINS],
        "tests.zoo.honest.in_other_ways": [*in_other_ways.HONEST, *in_other_ways.TWINS],
        "tests.zoo.honest.hidden": [*hidden.HONEST, *hidden.TWINS],
        "tests.zoo.honest.outsiders": [*outsiders.HONEST, *outsiders.TWINS],
        "tests.zoo.honest.refusing": list(refusing.NAMES),
        "tests.zoo.accountants": list(accountants.KINDS),
    }
    return ((module, name) for module, names in rooms.items() for name in names)
