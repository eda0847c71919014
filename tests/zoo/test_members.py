"""The members themselves: labelled, served, sound as adapters, and each wrong where it claims to be right."""

import subprocess
import sys

import numpy as np
import pytest

from audits.errors import AuditError
from reference.errors import InvalidParameter
from tests.zoo import MEMBERS, Harm, Member, Sight, named
from tests.zoo.catalogue import catalogue
from tests.zoo.specimen import Specimen, member
from verification.served.serve import Server, Values
from verification.served.stepwise import Stepwise, StepwiseBaselines
from verification.wire.messages import Capability
from verification.wire.parameters import PAPER, Algorithm, Parameters
from verification.wire.records import Records
from verification.wire.smoke import smoke

PAIRS = [(entry, algorithm) for entry in MEMBERS.values() for algorithm in entry.algorithms]


def _records(rows: int, columns: int) -> Records:
    rng = np.random.default_rng(5)
    features = rng.normal(scale=4.0, size=(rows, columns))
    features[0], features[1] = np.nan, 0.0  # an unusable record and an empty one
    return Records(features, np.where(rng.random(rows) < 0.3, 1, -1).astype(np.int64))


def _finite(records: Records) -> Records:
    return Records(np.nan_to_num(records.features, nan=50.0), records.labels)


def _outputs(implementation: Stepwise, records: Records, algorithm: Algorithm, parameters: Parameters) -> Values:
    return implementation.trials(records, algorithm, parameters, 300, 11)


def test_the_zoo_holds_what_was_asked_for() -> None:
    assert len(MEMBERS) >= 30
    for sight in Sight:
        for algorithm in PAPER:
            assert sum(sight in e.sights and algorithm in e.algorithms for e in MEMBERS.values()) >= 10, sight
    assert sum(entry.harm is Harm.LEAK for entry in MEMBERS.values()) >= 30


@pytest.mark.parametrize(("entry", "algorithm"), PAIRS, ids=lambda value: getattr(value, "identity", str(value)))
def test_every_member_differs_from_the_reference_where_it_claims_to_be_it(entry: Member, algorithm: Algorithm) -> None:
    records, parameters = _records(entry.claims.records, entry.claims.columns), entry.claims.parameters(algorithm)
    wrong = entry.build(entry.sights[0])
    if entry.identity == "nan-passes-the-clip":
        wrong.load(records)
        assert np.isfinite(_outputs(wrong, records, algorithm, parameters)["x"]).all()
        return
    if entry.identity == "same-seed-every-process":
        again = entry.build(entry.sights[0])
        first, second = (m.trials(_finite(records), algorithm, parameters, 3, None)["x"] for m in (wrong, again))
        np.testing.assert_array_equal(first, second)
        return
    ours = _outputs(wrong, _finite(records), algorithm, parameters)
    try:
        honest = _outputs(Specimen(), _finite(records), algorithm, parameters)
    except InvalidParameter:
        assert entry.identity == "scad-where-it-jumps"
        return
    assert set(ours) > set(honest) or _distance(ours, honest) > 1e-6, entry.wrong  # rounding is below 1e-14


def _distance(ours: Values, honest: Values) -> float:
    """The largest difference of quantiles, means of products and pooled values that either shows."""
    return max(float(np.abs(ours[name] - honest[name]).max()) for name in honest)


def test_without_a_bug_a_specimen_is_the_reference() -> None:
    records = _finite(_records(20, 4))
    for entry, algorithm in PAIRS:
        parameters = entry.claims.parameters(algorithm)
        if entry.identity == "scad-where-it-jumps":
            continue
        ours = _outputs(Specimen(), records, algorithm, parameters)
        theirs = _outputs(StepwiseBaselines(), records, algorithm, parameters)
        assert _distance(ours, theirs) == 0.0


@pytest.mark.parametrize(
    "identity",
    [
        "objective-beside-the-model",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("poisson-divided-by-m", "nan-passes-the-clip")),
    ],
)
@pytest.mark.parametrize("sight", [Sight.WHITE_BOX, Sight.BLACK_BOX])
def test_a_served_member_is_a_sound_adapter(identity: str, sight: Sight) -> None:
    steps = list(smoke([sys.executable, "-m", "tests.zoo", identity, sight]))
    assert len(steps) >= 5


def test_every_member_answers_every_question_in_every_sight() -> None:
    for entry in MEMBERS.values():
        for sight in entry.sights:
            who = Server(entry.build(sight)).answer(b'{"id":1,"request":"start","protocol":1}')
            assert b'"result"' in who, (entry.identity, sight, who)
            described = entry.build(sight).describe()
            assert (Capability.REPLAY in described.capabilities) == (sight is Sight.WHITE_BOX)
            assert (Capability.EVERY_ITERATE in described.capabilities) == (sight is not Sight.LAST_MODEL)
            if sight is Sight.LAST_MODEL:
                assert set(map(tuple, described.released.values())) == {("x",)}


def test_a_member_needs_a_label_and_an_id_of_its_own() -> None:
    with pytest.raises(AuditError, match="Source"):

        @member("without-a-source")
        class _Unlabelled(Specimen):
            """Something is wrong."""

    with pytest.raises(AuditError, match="twice"):
        member("clip-ignored")(Specimen)
    with pytest.raises(AuditError, match="no zoo member"):
        named("unheard-of")
    with pytest.raises(AuditError, match="kept as"):
        named("dual-without-noise").build(Sight.LAST_MODEL)


@pytest.mark.parametrize("arguments", [[], ["unheard-of"], ["clip-ignored", "dark-box"], ["-h"]])
def test_bad_usage_exits_2_and_says_how(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.zoo", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage:" in done.stderr


def test_the_catalogue_names_every_implementation_once() -> None:
    entries = list(catalogue())
    assert len(set(entries)) == len(entries)
    assert {("tests.zoo", name) for name in MEMBERS} < set(entries)
