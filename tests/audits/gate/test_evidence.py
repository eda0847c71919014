"""What is kept of a refutation is read back as it was, by reports of the same version alone."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from audits.errors import EvidenceError
from audits.gate.evidence import VERSION, Kept, KeptEvidence, read
from verification.judge import Traits
from verification.outcome import About, Outcome, Stage
from verification.wire.session import Session
from verification.wire.tape import Exchange, Tape


@pytest.mark.filterwarnings("error")
def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    with Session([sys.executable, "-m", "verification.served.loopback"]) as session:
        description = session.description
    about = About("silent", "ssADMM", Stage.CLAIMED, "ssadmm")
    tapes, scores = (Tape([Exchange("a digest", b'{"id":1}', 0.5)]),), (np.array([1.0, 0.1]), np.array([np.inf]))
    traits = Traits(own=True, unit=2.0**-24, processed=frozenset({"z"}))
    said = about, Outcome.REFUTED, "too little noise", 1e-9, 1e-7, description, 3, False
    kept = Kept(*said, tapes, 1.5, scores, ("silent",), traits)
    (path,) = KeptEvidence([kept]).write(tmp_path, "[claim]")
    found, claim = read(path)
    assert (claim, found.about, found.outcome, found.description) == ("[claim]", about, Outcome.REFUTED, description)
    assert (found.p_value, found.seed, found.seeded, found.only, found.traits) == (1e-9, 3, False, ("silent",), traits)
    assert [tape.exchanges for tape in found.tapes] == [tape.exchanges for tape in tapes]
    assert found.scores is not None
    assert all(np.array_equal(one, other) for one, other in zip(found.scores, scores, strict=True))

    document = json.loads(gzip.decompress(path.read_bytes())) | {"version": VERSION - 1}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    with pytest.raises(EvidenceError, match="version"):
        read(path)
