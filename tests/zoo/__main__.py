"""``python -m tests.zoo ID [SIGHT]`` serves a member on stdin and stdout.

``list`` shows them all, ``table`` prints docs/evidence/zoo.md, ``gates`` docs/evidence/zoo-gates.md, and
``claim ID [SIGHT]`` a claim file for `dpadmm gate`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from audits.errors import AuditError
from tests.zoo import Member, Sight, named
from verification.served.serve import serve

_USAGE = (
    "usage: python -m tests.zoo ID [white-box|black-box|last-model]\n"
    "       python -m tests.zoo list | table [ID ...] | gates [ID ...] | production [ID ...]\n"
    "       python -m tests.zoo claim ID [white-box|black-box|last-model]"
)


def main(arguments: Sequence[str]) -> int:  # noqa: PLR0911 - one return a command
    """Serve, list or tabulate; 0 if all went well, 2 for a usage error."""
    match arguments:
        case ["list"]:
            from tests.zoo.catalogue import catalogue

            for module, name in catalogue():
                print(f"{module:36} {name}")
            return 0
        case ["table", *identities]:
            from tests.zoo.table import write_table

            return write_table(identities)
        case ["gates", *identities]:
            from tests.zoo.gates import write_gates

            return write_gates(identities)
        case ["production", *identities]:
            from tests.zoo.production_gates import write_production

            return write_production(identities)
        case ["claim", identity] | ["claim", identity, _]:
            return _with(identity, arguments[2:], _print_claim)
        case [identity] | [identity, _] if not identity.startswith("-"):
            return _with(identity, arguments[1:], _serve)
        case _:
            print(_USAGE, file=sys.stderr)
            return 2


def _with(identity: str, sight: Sequence[str], act: Callable[[Member, Sight], None]) -> int:
    try:
        entry = named(identity)
        chosen = Sight(sight[0]) if sight else entry.sights[0]
        entry.build(chosen)
    except (AuditError, ValueError) as error:
        print(f"{error}\n{_USAGE}", file=sys.stderr)
        return 2
    act(entry, chosen)
    return 0


def _serve(entry: Member, sight: Sight) -> None:
    serve(entry.build(sight))


def _print_claim(entry: Member, sight: Sight) -> None:
    from tests.zoo.claims import claim_file

    print(claim_file(entry, sight), end="")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
