"""What a member of the zoo is: the reference with one part wrong, what is known about the bug, and the register.

A member's class docstring is its label: the first paragraph says what is wrong, the paragraph that opens with
``Source:`` where the bug was seen. Both are read from there, so the label and the code cannot part.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from audits.errors import AuditError
from tests.zoo.setting import ZooSetting
from verification.served.stepwise import StepwiseBaselines
from verification.wire import messages as m
from verification.wire.parameters import Algorithm

SS = (Algorithm.SSADMM,)
MP = (Algorithm.MPADMM,)
BOTH = (Algorithm.SSADMM, Algorithm.MPADMM)


class Sight(enum.StrEnum):
    """How much of a member the harness is shown."""

    WHITE_BOX = "white-box"  # replay with given batches and noise, and trials
    BLACK_BOX = "black-box"  # trials only, every iterate
    LAST_MODEL = "last-model"  # trials only, the last x and nothing else


EVERY_SIGHT = tuple(Sight)
BOXES = (Sight.WHITE_BOX, Sight.BLACK_BOX)
_HIDDEN = {
    Sight.WHITE_BOX: frozenset[m.Capability](),
    Sight.BLACK_BOX: frozenset({m.Capability.REPLAY}),
    Sight.LAST_MODEL: frozenset({m.Capability.REPLAY, m.Capability.EVERY_ITERATE}),
}


class Harm(enum.StrEnum):
    """What the bug does to the privacy that is claimed."""

    LEAK = "leak"  # more is revealed than is claimed
    NONE = "no leak"  # something else is computed than is claimed, at no cost in privacy


class Specimen(StepwiseBaselines):
    """The served reference, of which a member replaces one part."""

    identity: ClassVar[str] = ""
    algorithms: ClassVar[tuple[Algorithm, ...]] = BOTH

    def __init__(self, sight: Sight = Sight.WHITE_BOX) -> None:
        self._sight = sight

    def describe(self) -> m.StartResult:
        """Claim to be the honest reference, as far as the harness is let see."""
        honest = super().describe()
        last_model_only = self._sight is Sight.LAST_MODEL
        return m.StartResult(
            protocol=honest.protocol,
            name=f"zoo-{self.identity}",
            version=honest.version,
            language=honest.language,
            algorithms=list(self.algorithms),
            losses=honest.losses,
            regularizers=honest.regularizers,
            capabilities=[c for c in honest.capabilities if c not in _HIDDEN[self._sight]],
            released={a: ["x"] if last_model_only else self.leaves(a) for a in self.algorithms},
        )


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of the register."""

    identity: str
    wrong: str
    source: str
    kind: type[Specimen] = field(repr=False)
    algorithms: tuple[Algorithm, ...]
    sights: tuple[Sight, ...]
    harm: Harm
    claims: ZooSetting

    def build(self, sight: Sight) -> Specimen:
        """Return the implementation, to be served."""
        if sight not in self.sights:
            shown = ", ".join(self.sights)
            raise AuditError(f"zoo member {self.identity} is kept as {shown}, got sight={sight}")
        return self.kind(sight)


_REGISTER: dict[str, Member] = {}
SpecimenType = TypeVar("SpecimenType", bound=type[Specimen])


def member(
    identity: str,
    *,
    algorithms: tuple[Algorithm, ...] = BOTH,
    sights: tuple[Sight, ...] = BOXES,
    harm: Harm = Harm.LEAK,
    claims: ZooSetting | None = None,
) -> Callable[[SpecimenType], SpecimenType]:
    """Register the class under an id; refuses a label without a source, and an id that is taken."""

    def register(kind: SpecimenType) -> SpecimenType:
        if identity in _REGISTER:
            raise AuditError(f"zoo ids must be unique, got {identity!r} twice")
        kind.identity, kind.algorithms = identity, algorithms
        wrong, source = _label(kind)
        _REGISTER[identity] = Member(identity, wrong, source, kind, algorithms, sights, harm, claims or ZooSetting())
        return kind

    return register


def _label(kind: type[Specimen]) -> tuple[str, str]:
    paragraphs = [" ".join(part.split()) for part in (inspect.getdoc(kind) or "").split("\n\n")]
    sources = [part.removeprefix("Source:").strip() for part in paragraphs if part.startswith("Source:")]
    if len(sources) != 1 or not sources[0] or paragraphs[0].startswith("Source:"):
        raise AuditError(
            f"{kind.__name__} must say what is wrong and, in one paragraph 'Source: ...', where it was seen"
        )
    return paragraphs[0], sources[0]


def registered() -> Iterator[Member]:
    """Every member registered so far, in the order of registration."""
    return iter(_REGISTER.values())
