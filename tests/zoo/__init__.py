"""The catalogue of wrong, and of honest but different, implementations; none of them is in the wheel.

Here: wrong ones behind the wire, one real bug each, every one of which must be detected. The rooms beside it hold the
others (`catalogue` names them all): `black_box` mechanisms without the reference, `declared` algorithms, `conformance`
and `vectors` one witness for each check, `honest` variants that no check may accuse, `accountants`.

Each member is the served reference with one part replaced (`verification.served.stepwise`), kept at one or more
sights: white-box, black-box, last model only. ``python -m tests.zoo ID [SIGHT]`` serves one on stdin and stdout,
``python -m tests.zoo list`` shows all rooms, ``python -m tests.zoo table`` writes docs/evidence/zoo.md.
"""

from __future__ import annotations

from audits.errors import AuditError
from tests.zoo import (
    baselines,
    batches,
    clipping,
    noise_draws,
    noise_scale,
    preprocessing,
    production,
    production_batches,
    production_bounds,
    production_data,
    production_noise,
    releases,
    sensitivities,
    updates,
)
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import Harm, Member, Sight, Specimen, registered

__all__ = ["GROUPS", "MEMBERS", "PRODUCTION", "Harm", "Member", "Sight", "Specimen", "ZooSetting", "named"]

# Importing a group registers its members; the order is that of the generated table.
GROUPS = (
    noise_scale,
    noise_draws,
    sensitivities,
    batches,
    clipping,
    preprocessing,
    releases,
    updates,
    baselines,
)
MEMBERS: dict[str, Member] = {
    member.identity: member for group in GROUPS for member in registered() if member.kind.__module__ == group.__name__
}
"""What conformance refutes at small sizes."""
PRODUCTION_GROUPS = (production, production_noise, production_data, production_batches, production_bounds)
PRODUCTION: dict[str, Member] = {
    member.identity: member
    for member in registered()
    if member.kind.__module__ in {group.__name__ for group in PRODUCTION_GROUPS}
}
"""What shows at the claimed size, without a seed, rarely or late, and not before."""


def named(identity: str) -> Member:
    """Return a member; refuses an unknown id with what there is."""
    known = MEMBERS | PRODUCTION
    if identity not in known:
        raise AuditError(f"no zoo member is called {identity!r}; there are {', '.join(known)}")
    return known[identity]
