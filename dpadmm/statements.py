"""Every statement of this project: those of `verification`, and VILLE, whose evidence runs the audits' own bets."""

from __future__ import annotations

import functools

from audits.eprocess.ville import VILLE
from verification.statements import registry

BY_NAME = registry.registry(VILLE)
STATEMENTS = tuple(dict.fromkeys(BY_NAME.values()))
find = functools.partial(registry.find, known=BY_NAME)
