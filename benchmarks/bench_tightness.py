"""How much of what ssADMM costs an audit shows: ``python -m benchmarks.bench_tightness [--pairs N]``.

The hardest pair, every iterate visible, the reference behind the wire, delta = 1e-5, 95 %. For each setting:

* the accountant's lower and upper end;
* *any pair*: the share of the lower end that N trial pairs show if the claims that are bet against are the curves that
  hold for every pair, the mechanism's own;
* *this pair*: the same from the same runs, with the curves that this pair attains (`audits.eprocess.lower_bounds`).

Both are sound. The second says what the pair attains, which is what the lower end is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from accountant import Ledger, SsADMM, epsilon
from accountant.numbers import fraction_of
from audits.curves import ClaimFamily, PrivacyCurve
from audits.eprocess.lower_bounds import ComposedScores, lower_bound, pair_lower_bound
from audits.eprocess.scores import StepwiseScores
from audits.games.executors import Chunk, Target, close_sessions, score_chunk
from audits.games.game import curve_of
from audits.games.plans import batch_game
from verification.wire.process import Limits
from verification.wire.session import Session

# records, batch, noise multiplier, steps
SETTINGS = [
    (12, 3, "0.5", 3),
    (12, 3, "1", 4),
    (12, 3, "1", 10),
    (12, 3, "2", 20),
    (40, 4, "0.5", 10),
    (40, 4, "1", 20),
]
DELTA = "1e-5"
CHUNK = 2500
TARGET = Target((sys.executable, "-m", "verification.served.loopback"), Limits())


def row(records: int, batch: int, nu: str, steps: int, pairs: int) -> str:
    """One line of the table."""
    rate = batch / records
    lower, upper = _ends(_ledger(records, batch, Fraction(nu), steps))
    with Session(TARGET.command, TARGET.limits) as session:
        planned = batch_game(session, records=records, batch=batch, steps=steps, multiplier=float(nu))
    if not isinstance(planned.simulate, StepwiseScores):
        raise TypeError("a game of ssADMM shows its pair step by step")
    chunks = [Chunk(7, 0, i, CHUNK) for i in range(-(-pairs // CHUNK))]
    scored = [score_chunk(TARGET, planned.game, planned.attack, chunk) for chunk in chunks]
    close_sessions()
    first, second = (np.concatenate([getattr(part, side) for part in scored]) for side in ("first", "second"))
    this = pair_lower_bound(planned.simulate, first, second, delta=float(DELTA)).epsilon

    def claimed(strength: float) -> PrivacyCurve:
        return curve_of(_ledger(records, batch, Fraction(nu) / Fraction(strength), steps))

    family = ClaimFamily("ssADMM with less noise", claimed, 0.4, 1.2)
    scores = ComposedScores(rate, float(nu), steps)
    every = lower_bound(family, scores, first, second, delta=float(DELTA)).epsilon
    shares = f"{every / lower:.3f} | {this / lower:.3f}"
    return f"| {rate:g} | {nu} | {steps} | {lower:.3f} | {upper:.3f} | {shares} |"


def _ledger(records: int, batch: int, nu: Fraction, steps: int) -> Ledger:
    return SsADMM(records=records, batch=batch, iterations=steps, sigma=nu * 2 / batch, clip=1).ledger()


def _ends(ledger: Ledger) -> tuple[float, float]:
    bound = epsilon(ledger, DELTA, methods=["profile"]).epsilon
    return float(fraction_of(bound.lower)), float(fraction_of(bound.upper))


def table(pairs: int) -> Iterator[str]:
    """The whole table."""
    yield f"| q | nu | T | lower | upper | any pair, {pairs:,} | this pair, {pairs:,} |"
    yield "|---|---|---|---|---|---|---|"
    for setting in SETTINGS:
        yield row(*setting, pairs)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_tightness", description=__doc__)
    parser.add_argument("--pairs", type=int, default=50_000)
    for line in table(parser.parse_args(arguments).pairs):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
