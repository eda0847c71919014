"""The cases of `third_party.toml`: other people's code, what its documentation claims, what its source says."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from verification.outcome import Outcome

BLACK_BOX = "--black-box --delta 0 --epsilon 1 --budget 2m --explore 400 --pairs 4000 --detect-epsilon 8"


class ThirdPartyCase(BaseModel):
    """One claim about one repository: a claim file, or (black box) the parameters of the audited program.

    ``package`` is what must be importable in the environment of the adapters, ``program`` another interpreter that
    must be there. ``attained`` is what a refutation says of epsilon, in the words of the finding, ``evidence`` the
    check whose evidence is small enough to be kept.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    name: str
    package: str
    title: str
    claim: str
    expected: Annotated[Outcome, Field(strict=False)]
    refuted_by: list[str]
    reading: str
    black_box: str = ""
    repository: str
    language: str = "Python"
    commit: str
    attained: str = ""
    cause: str = ""
    program: str = ""
    evidence: str = ""

    @property
    def arguments(self) -> list[str]:
        """What `dpadmm` is called with, in examples/third_party."""
        if not self.black_box:
            return ["gate", f"{self.name}.toml", "--seed", "1"]
        program = ["python", "diffprivlib_logistic.py", self.black_box]
        return ["audit", *BLACK_BOX.split(), "--seed", "1", "--", *program]


def _read() -> list[ThirdPartyCase]:
    text = Path(__file__).with_name("third_party.toml").read_text(encoding="utf-8")
    return [ThirdPartyCase.model_validate(case) for case in tomllib.loads(text)["case"]]


CASES = _read()
