"""``python -m audits.zoo ID [SIGHT]`` serves a member on stdin and stdout; ``list`` shows them all."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from audits.errors import AuditError
from audits.zoo import MEMBERS, Sight, named
from verification.adapter.serve import serve

_USAGE = "usage: python -m audits.zoo ID [white-box|black-box|last-model] | list | table [ID ...]"


def main(arguments: Sequence[str]) -> int:
    """Serve, list or tabulate; 0 if all went well, 2 for a usage error."""
    match arguments:
        case ["list"]:
            for entry in MEMBERS.values():
                print(f"{entry.identity:36} {', '.join(entry.algorithms):16} {', '.join(entry.sights)}")
            return 0
        case ["table", *identities]:
            from audits.zoo.table import write_table  # noqa: PLC0415 - a served member must not need conformance

            return write_table(identities)
        case [identity] | [identity, _] if not identity.startswith("-"):
            return _serve(identity, arguments[1] if len(arguments) == 2 else None)
        case _:
            print(_USAGE, file=sys.stderr)
            return 2


def _serve(identity: str, sight: str | None) -> int:
    try:
        entry = named(identity)
        specimen = entry.build(entry.sights[0] if sight is None else Sight(sight))
    except (AuditError, ValueError) as error:
        print(f"{error}\n{_USAGE}", file=sys.stderr)
        return 2
    serve(specimen)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
