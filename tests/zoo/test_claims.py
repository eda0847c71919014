"""The claim files of members: the claim itself stands, the implementation is refuted."""

from pathlib import Path

import pytest

from accountant.mechanisms.mechanism import TrainingMechanism
from accountant.mechanisms.words import Visibility
from audits.gate.claim_file import read_claim_file
from audits.gate.price import account
from tests.zoo import Sight, named
from tests.zoo.claims import claim_file
from verification.outcome import Outcome


@pytest.mark.parametrize(
    ("identity", "sight"), [("clip-ignored", Sight.LAST_MODEL), ("eta-forgotten", Sight.BLACK_BOX)]
)
def test_the_claim_of_a_member_is_one_that_the_accountant_certifies(
    identity: str, sight: Sight, tmp_path: Path
) -> None:
    file = tmp_path / "privacy-claim.toml"
    file.write_text(claim_file(named(identity), sight), encoding="utf-8")
    claims = read_claim_file(file)
    assert [mechanism.algorithm for mechanism in claims.mechanism] == list(named(identity).algorithms)
    for mechanism in claims.mechanism:
        assert account(claims.claim, mechanism).judged.outcome is Outcome.STANDS
        assert isinstance(mechanism, TrainingMechanism)
        assert (mechanism.released is Visibility.LAST_MODEL) == (sight is Sight.LAST_MODEL)
    assert claims.implementation is not None
    assert claims.implementation.command[-2:] == [identity, str(sight)]
