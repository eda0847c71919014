"""Writes the published JSON schema of the protocol: `python -m tools.protocol_schema [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from verification.files import write_text
from verification.wire.declaration import schema_text

PUBLISHED = Path(__file__).parents[1] / "docs" / "reference" / "protocol.schema.json"


def main() -> int:
    """Write the schema, or with --check say whether the published one is current (1 if it is not)."""
    text = schema_text()
    if "--check" in sys.argv[1:]:
        return 0 if PUBLISHED.read_text(encoding="utf-8") == text else 1
    write_text(PUBLISHED, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
