"""Honest implementations that differ from the reference, each beside a wrong one that is one step away."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from accountant.mechanisms.words import Algorithm

_SAME, _OTHER = "tests.zoo.honest.same_claim", "tests.zoo.honest.in_other_ways"
_HIDDEN, _OUTSIDERS = "tests.zoo.honest.hidden", "tests.zoo.honest.outsiders"
_VARIANTS, _UPDATES = "tests.zoo.honest.variants", "tests.zoo.honest.other_updates"


@dataclass(frozen=True, slots=True)
class Pair:
    """The words after ``python -m`` of an honest implementation and of its wrong twin, and what they claim to run."""

    honest: tuple[str, ...]
    twin: tuple[str, ...]
    algorithm: Algorithm = Algorithm.SSADMM

    @property
    def command(self) -> list[str]:
        """How the honest one is started."""
        return [sys.executable, "-m", *self.honest]

    @property
    def wrong(self) -> list[str]:
        """How its twin is started."""
        return [sys.executable, "-m", *self.twin]

    @property
    def number(self) -> int:
        """Which of the claims of the campaign it is about: even for ssADMM, odd for mpADMM."""
        return 0 if self.algorithm is Algorithm.SSADMM else 1


def _updates(name: str, mistake: str) -> Pair:
    return Pair((_UPDATES, name), (_UPDATES, name, mistake))


_MP = Algorithm.MPADMM
PAIRS: dict[str, Pair] = {
    # precision
    "everything-single": Pair((_SAME, "everything-single"), (_SAME, "everything-single-half-noise"), _MP),
    "single-gradients": Pair((_SAME, "single-gradients"), (_SAME, "single-gradients-doubled")),
    "bfloat16-gradients": Pair((_SAME, "bfloat16-gradients"), (_SAME, "bfloat16-gradients-longer")),
    "binary16-gradients": Pair((_OTHER, "binary16-gradients"), (_OTHER, "binary16-longer")),
    # what carries no noise of its own is a function of what was released
    "dual-of-noisy": Pair((_SAME, "dual-of-noisy"), (_SAME, "dual-of-clean"), _MP),
    "primal-for-all": Pair((_SAME, "primal-for-all"), (_OTHER, "primal-of-clean"), _MP),
    "relaxed-primal": Pair((_OTHER, "relaxed-primal"), (_OTHER, "relaxed-primal-half"), _MP),
    # more noise, other generators
    "more-noise": Pair((_VARIANTS, "more-noise"), (_VARIANTS, "noise/1.2")),
    "further-normal": Pair((_SAME, "further-normal"), (_SAME, "common-normal")),
    "growing-noise": Pair((_OTHER, "growing-noise"), (_OTHER, "shrinking-noise"), _MP),
    "scale-mixture": Pair((_OTHER, "scale-mixture"), (_OTHER, "scale-mixture-less")),
    "laplace-beside": Pair((_OTHER, "laplace-beside"), ("tests.zoo", "laplace-of-equal-deviation")),
    "turned-noise": Pair((_OUTSIDERS, "turned-noise"), (_OUTSIDERS, "tied-noise")),
    "discrete": Pair((_VARIANTS, "discrete"), (_VARIANTS, "noise on a grid")),
    "box-muller": Pair((_OTHER, "box-muller"), (_OTHER, "box-muller-of-bytes"), _MP),
    # post-processing
    "normalised-noisy-gradient": Pair(
        (_SAME, "normalised-noisy-gradient"),
        (_SAME, "normalised-with-less-noise"),
    ),
    "sparse-noisy": Pair((_OTHER, "sparse-noisy"), (_OTHER, "sparse-before")),
    "projected": Pair((_OTHER, "projected"), (_OTHER, "projected-half")),
    "rounded": Pair((_VARIANTS, "rounded"), (_OTHER, "rounded-half")),
    **{
        name: Pair((_HIDDEN, name), (_HIDDEN, twin))
        for name, twin in (
            ("sign", "sign-before"),
            ("clamp", "clamp-half"),
            ("unit-length", "unit-length-before"),
            ("quantised", "quantised-before"),
            ("top-half", "top-half-of-clean"),
            ("adam", "adam-of-clean"),
            ("stops-on-released", "stops-on-clean"),
        )
    },
    # what an update depends on, and where noise comes from
    "columns-by-a-constant": Pair((_SAME, "columns-by-a-constant"), (_SAME, "columns-by-the-data")),
    "leaves-out-overflow": Pair((_SAME, "leaves-out-overflow"), (_SAME, "skips-overflow")),
    "fresh-pool": Pair((_SAME, "fresh-pool"), (_SAME, "noise-pool")),
    # contractions
    "shorter-gradients": Pair((_SAME, "shorter-gradients"), (_OTHER, "shorter-with-less-noise")),
    "mean-of-gradients": Pair((_OTHER, "mean-of-gradients"), (_OTHER, "mean-with-less-noise")),
    "smaller-clip": Pair((_OTHER, "smaller-clip"), (_OTHER, "larger-clip")),
    "clip-by-l1": Pair((_OTHER, "clip-by-l1"), (_OTHER, "clip-by-maximum")),
    "smooth-clip": Pair((_OTHER, "smooth-clip"), (_OTHER, "smooth-clip-longer")),
    "clip-each-coordinate": Pair((_OTHER, "clip-each-coordinate"), (_OTHER, "clip-each-coordinate-whole"), _MP),
    "shrinking-clip": Pair((_OUTSIDERS, "shrinking-clip"), (_OUTSIDERS, "quantile-clip")),
    "squared-hinge": Pair((_OTHER, "squared-hinge"), (_OTHER, "squared-hinge-unclipped")),
    "public-weights": Pair((_OUTSIDERS, "public-weights"), (_OUTSIDERS, "weights-of-classes"), _MP),
    "larger-division": Pair((_OTHER, "larger-division"), (_OTHER, "smaller-division"), _MP),
    # other updates
    "weight-decay": Pair((_OTHER, "weight-decay"), (_OTHER, "weight-decay-half")),
    "dual-step": _updates("dual-step", "plain-dual"),
    "over-relaxed": _updates("over-relaxed", "noise/3"),
    "dual-first": _updates("dual-first", "first-records"),
    "scaled-dual": _updates("scaled-dual", "plain-dual"),
    "momentum": _updates("momentum", "noise/3"),
    "averaged": _updates("averaged", "plain-dual"),
    "from-z": _updates("from-z", "first-records"),
    "shorter-steps": _updates("shorter-steps", "noise/3"),
    "shorter-later": Pair((_OUTSIDERS, "shorter-later"), (_OUTSIDERS, "shorter-on-plateau")),
    "momentum-of-noisy": Pair((_OTHER, "momentum-of-noisy"), (_OTHER, "momentum-of-clean")),
    # how it is run
    "random-start": Pair((_VARIANTS, "random-start"), (_OTHER, "start-from-data")),
    "sharded": Pair((_OTHER, "sharded"), (_OTHER, "sharded-noise"), _MP),
    "slow": Pair((_OTHER, "slow"), (_OTHER, "slow-half"), _MP),
    "warnings-as-errors": Pair((_OTHER, "warnings-as-errors"), (_OTHER, "warnings-as-errors-half")),
    "no-seed": Pair((_SAME, "no-seed"), (_OTHER, "no-seed-half")),
    "last-model-only": Pair((_SAME, "last-model-only"), (_OTHER, "last-model-half")),
}
