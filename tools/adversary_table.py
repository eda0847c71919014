"""Build the table of hints: `python -m tools.adversary_table`, or `make certificates`; some minutes.

For each nu of the grid a certificate is searched for from nothing at the smallest and the largest q, between them with
the covers found at the smallest; where none is found the table has no entry. The grid reaches from nu = 0.29 to 17 and
from q = 1/1000 to 0.4; a step beyond it in q takes the nearest entry, in nu too, up to a factor of 1.25.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from accountant.errors import CannotCertifyError
from accountant.pld.adversary.search import PATH, Entry, Hint, found_certificate, written

MUS: Final = tuple(float(f"{0.06 * 1.4**k:.3g}") for k in range(13))
RATES: Final = (1e-3, 0.1, 0.4)


def row(mu: float) -> list[Entry]:
    """Return the entries of one mu."""
    found: list[Entry] = []
    for q in RATES:
        covers = None
        if found and q < RATES[-1]:  # at the largest q blocks need more boxes, which another cover would hide
            covers = replace(Hint(), windows=found[0].hint.windows, stairs=found[0].hint.stairs)
        try:
            found.append(Entry(q, mu, found_certificate(q, mu, covers).hint))
        except CannotCertifyError as reason:
            print(f"q={q}, nu={1 / mu:.4g}: {reason}", flush=True)
    return found


def main() -> None:
    """Write the table."""
    table: list[Entry] = []
    for mu in MUS:
        table += row(mu)
        print(f"nu={1 / mu:.4g}: {[entry.hint.blocks for entry in table if entry.mu == mu]}", flush=True)
    PATH.write_text(written(tuple(table)), "utf-8")


if __name__ == "__main__":
    main()
