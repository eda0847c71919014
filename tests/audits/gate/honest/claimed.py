"""One question at the claimed size, asked of an honest or a quieter variant without a whole gate."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from audits.gate.claim_file import claimed_run, read_claim_file
from verification.judge import Asked, Plan, Result, judge
from verification.questions.catalogue import at
from verification.questions.question import Size
from verification.wire.session import Session


def asked_at_the_claimed_size(
    command: Sequence[str], claim_text: str, plan: Plan, names: Sequence[str] = ()
) -> dict[str, Result]:
    """The results by question, of these or of all, about the first mechanism of the claim."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claim.toml"
        path.write_text(claim_text, encoding="utf-8")
        claims = read_claim_file(path)
    with Session(command) as session:
        claimed = claimed_run(claims.mechanism[0], claims.deployment, session.description)
        chosen = [q for q in at(Size.CLAIMED) if claimed.mode in q.modes and (q.name in names or not names)]
        asked = [Asked(question, claimed.mode, claimed) for question in chosen]
        return {r.about.question: r for r in judge([session], asked, plan, lambda: Session(command))}
