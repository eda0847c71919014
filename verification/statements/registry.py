"""Every claim of this project, by id."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from verification.errors import UnknownClaim
from verification.statements.model import Claim
from verification.statements.texts import baselines, building_blocks, errata, privacy, sensitivities


def collected(*groups: Iterable[Claim]) -> dict[str, Claim]:
    """All claims by id and alias, in order; refuses an id that is used twice."""
    found: dict[str, Claim] = {}
    for group in groups:
        for claim in group:
            for name in (claim.id, *claim.aliases):
                if name in found:
                    raise ValueError(f"two claims are called {name}")
                found[name] = claim
    return found


BY_NAME = collected(building_blocks.CLAIMS, sensitivities.CLAIMS, privacy.CLAIMS, baselines.CLAIMS, errata.CLAIMS)
CLAIMS: tuple[Claim, ...] = tuple(dict.fromkeys(BY_NAME.values()))


def find(name: str) -> Claim:
    """The claim of this id or alias, whatever its case; an unknown one is refused with the nearest names."""
    claim = BY_NAME.get(name.upper())
    if claim is None:
        near = difflib.get_close_matches(name.upper(), BY_NAME, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; `dpadmm explain` lists them"
        raise UnknownClaim(f"there is no claim {name!r}{hint}")
    return claim
