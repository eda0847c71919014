"""What each algorithm is on the wire: which parameters it takes, what gets noise, what a run shows, and in what shape.

One row per algorithm. To add an algorithm, add a row here, its mathematics to `translate` and `stepwise`, and how
to look inside it to `verification.reading.inverter`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from verification.wire.parameters import Algorithm, Parameters, Release

PAPER = (Algorithm.SSADMM, Algorithm.MPADMM)
PRIVATE_BASELINES = (Algorithm.DPSGD, Algorithm.DPADMM, Algorithm.DPSVRG, Algorithm.OBJP)
NON_PRIVATE = (Algorithm.SADMM, Algorithm.ADMM)
BASELINES = (*PRIVATE_BASELINES, *NON_PRIVATE)


class Law(enum.Enum):
    """How the noise is distributed."""

    GAUSSIAN = "gaussian"
    OBJECTIVE = "uniform direction, norm Gamma(p, 2C/eps')"
    NONE = "none"


PECULIAR = ("batch", "release", "parties", "inner")
"""Parameters that belong to some algorithms and not to others."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One algorithm on the wire."""

    takes: frozenset[str]
    noised: tuple[str, ...]
    law: Law = Law.GAUSSIAN
    iterates: tuple[str, ...] = ("x", "z", "y")  # what a replay shows
    also_released: tuple[str, ...] = ()  # what its privacy claim covers beside the iterates
    by_party: frozenset[str] = frozenset()  # values and noise with a row a party
    clips: bool = True  # whether the gradient may be clipped; else records are normalised
    proximal_x: bool = False  # x itself has gone through the proximal map, which hides the noise where it is not 1-1

    def noised_names(self, parameters: Parameters) -> tuple[str, ...]:
        """What noise is added to."""
        return ("x",) if parameters.release is Release.PRIMAL else self.noised

    def row_shape(self, name: str, parameters: Parameters, dimension: int) -> tuple[int, ...]:
        """The shape of one iterate or one draw of noise."""
        return (parameters.parties or 1, dimension) if name in self.by_party else (dimension,)

    def draws(self, name: str, parameters: Parameters) -> int:
        """How often noise of this name is drawn: once an iteration, or once an epoch."""
        return parameters.iterations // (parameters.inner or 1) if name == "anchor" else parameters.iterations

    def noise_shape(self, name: str, parameters: Parameters, dimension: int) -> tuple[int, ...]:
        """The shape of a whole run's noise."""
        return (self.draws(name, parameters), *self.row_shape(name, parameters, dimension))

    def averaged(self, parameters: Parameters, records: int) -> int:
        """Over how many records a gradient is averaged, at least: the batch, the smallest party, or all."""
        return parameters.batch or records // (parameters.parties or 1)

    def prox_weight(self, rho: float, etas: list[float]) -> float:
        """The least weight of the quadratic in the proximal map: rho, or 1/eta where the step itself is proximal."""
        return min(1 / eta for eta in etas) if self.proximal_x else rho


SCHEMES: dict[Algorithm, Scheme] = {
    Algorithm.SSADMM: Scheme(frozenset({"batch"}), ("gradient",)),
    Algorithm.MPADMM: Scheme(frozenset({"release"}), ("x", "y", "z")),
    Algorithm.DPSGD: Scheme(frozenset({"batch"}), ("gradient",), iterates=("x",), proximal_x=True),
    Algorithm.DPADMM: Scheme(frozenset({"parties"}), ("x",), by_party=frozenset({"x", "y"})),
    Algorithm.DPSVRG: Scheme(
        frozenset({"batch", "inner"}),
        ("anchor", "gradient"),
        iterates=("x",),
        also_released=("full_gradient",),
        proximal_x=True,
    ),
    Algorithm.OBJP: Scheme(frozenset(), ("objective",), law=Law.OBJECTIVE, clips=False),
    Algorithm.SADMM: Scheme(frozenset({"batch"}), (), law=Law.NONE),
    Algorithm.ADMM: Scheme(frozenset(), (), law=Law.NONE, clips=False),
}


def noised_names(algorithm: Algorithm, parameters: Parameters) -> tuple[str, ...]:
    """Return what noise is added to."""
    return SCHEMES[algorithm].noised_names(parameters)


def require_complete(algorithm: Algorithm, parameters: Parameters) -> None:
    """Refuse parameters that lack what the algorithm needs, or hold what belongs to another one."""
    scheme = SCHEMES[algorithm]
    for name in PECULIAR:
        if (getattr(parameters, name) is not None) != (name in scheme.takes):
            owners = ", ".join(sorted(a for a, row in SCHEMES.items() if name in row.takes))
            raise ValueError(
                f"{name} belongs to {owners} and to nothing else, got {algorithm}, {name}={getattr(parameters, name)}"
            )
    if (parameters.epsilon is not None) != (scheme.law is Law.OBJECTIVE):
        raise ValueError(f"epsilon belongs to objp and to nothing else, got {algorithm}, epsilon={parameters.epsilon}")
    if scheme.law is Law.NONE and parameters.sigma != 0:
        raise ValueError(f"{algorithm} adds no noise: sigma must be 0, got sigma={parameters.sigma}")
    needs_anchor = algorithm is Algorithm.DPSVRG and parameters.sigma is not None
    if (parameters.anchor_sigma is not None) != needs_anchor:
        raise ValueError(
            "anchor_sigma belongs to dpsvrg with a sigma and to nothing else, "
            f"got {algorithm}, anchor_sigma={parameters.anchor_sigma}"
        )
    if parameters.clip is not None and not scheme.clips:
        raise ValueError(f"{algorithm} solves with true gradients: normalise the records instead of clip")
