"""`conform` never says "conforms" where nobody looked at something that a claim would rest on."""

from __future__ import annotations

from verification.conform import ConformanceReport, _gaps
from verification.outcome import About, Aspect, Finding, Outcome, Stage
from verification.served.loopback import Loopback

PASSED = Finding(About("silent", "ssadmm", Stage.SMALL), Outcome.STANDS, "")


def report(*uncovered: tuple[str, Aspect]) -> ConformanceReport:
    return ConformanceReport(None, (PASSED,), 1e-3, 0, 1.0, uncovered=uncovered)


def test_a_gap_is_never_a_pass() -> None:
    assert report().outcome is Outcome.STANDS
    assert report(("ssadmm", Aspect.BATCHES)).outcome is Outcome.INCONCLUSIVE


def test_where_nothing_was_answered_everything_is_a_gap() -> None:
    gaps = _gaps([], Loopback().describe())
    assert {aspect for mode, aspect in gaps if mode == "ssadmm"} == {
        Aspect.NOISE,
        Aspect.RELEASED,
        Aspect.BATCHES,
        Aspect.CLIPPING,
    }
    assert ("mpadmm/all", Aspect.BATCHES) not in gaps
