r"""Random ledgers: one to five phases of any mechanism, parameters over all orders of magnitude that are admitted.

Number `index` always is the same ledger. Half of the numbers of a phase are ordinary, half come from a far wider range:
records to 10^12, iterations to 10^15, noise multipliers from 10^-20 to 10^20, delta from 1/2 to 10^-300. Batches are
fresh, drawn with replacement, or those of epochs; in some ledgers neighbours differ in a group of records.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

Entry = dict[str, object]
REPLACE_ONE: Final = "replace-one"
ADD_OR_REMOVE: Final = "add-or-remove"
MOST_PHASES: Final = 5
MOST_SCHEDULE: Final = 6


def drawn(index: int) -> tuple[list[Entry], str]:
    """Return the phases and delta of ledger number `index`."""
    chance = random.Random(f"ledger {index}")
    neighbours = ADD_OR_REMOVE if chance.random() < 0.15 else REPLACE_ONE
    phases = [_phase(chance, neighbours) for _ in range(chance.randint(1, MOST_PHASES))]
    if chance.random() < 0.15:
        phases = _grouped(chance, phases)
    return phases, _decimal(chance, (-12, -2), (-300, -0.31))


def _phase(chance: random.Random, neighbours: str) -> Entry:
    makers = ADDED if neighbours == ADD_OR_REMOVE else REPLACED
    weights = [weight for _, weight in makers.values()]
    name = chance.choices(list(makers), weights)[0]
    return {"algorithm": name, **makers[name][0](chance)}


def _grouped(chance: random.Random, phases: list[Entry]) -> list[Entry]:
    """Return the phases for neighbours that differ in a group: real noise, no group larger than the data."""
    most = min(int(str(phase.get("records", 10**6))) for phase in phases)
    size = min(1 + _whole(chance, (0, 1), (0, 3)), most)
    return [
        {name: value for name, value in phase.items() if name != "noise"} | {"group_size": size} for phase in phases
    ]


def _decimal(chance: random.Random, ordinary: tuple[float, float], wide: tuple[float, float]) -> str:
    """Return a decimal of one to four digits, uniform on a logarithmic scale."""
    exponent = chance.uniform(*(ordinary if chance.random() < 0.5 else wide))
    power, digits = int(exponent // 1), chance.randint(0, 3)
    mantissa = max(10**digits, int(10 ** (exponent - power + digits)))
    return f"{mantissa}e{power - digits}"


def _whole(chance: random.Random, ordinary: tuple[float, float], wide: tuple[float, float]) -> int:
    exponent = chance.uniform(*(ordinary if chance.random() < 0.5 else wide))
    return max(1, int(10**exponent))


def _iterations(chance: random.Random) -> int:
    return _whole(chance, (0, 5), (0, 15))


def _multiplier(chance: random.Random) -> str:
    return _decimal(chance, (-0.5, 2), (-20, 20))


def _batches(chance: random.Random) -> Entry:
    records = _whole(chance, (2, 6), (0, 12))
    batch = records if chance.random() < 0.05 else max(1, int(records ** chance.uniform(0, 1)))
    return {"records": records, "batch": batch}


def _sampled(chance: random.Random) -> Entry:
    drawn = _batches(chance) | {"noise_multiplier": _multiplier(chance), "iterations": _iterations(chance)}
    if chance.random() < 0.3:
        sampling = chance.choice(["fixed-order", "shuffle", "with-replacement"])
        return drawn | {"sampling": sampling, "records": max(2, int(str(drawn["records"])))}
    return drawn | ({"noise": "discrete"} if chance.random() < 0.1 else {})


def _dpsvrg(chance: random.Random) -> Entry:
    inner, epochs = _whole(chance, (0, 2), (0, 6)), _whole(chance, (0, 2), (0, 8))
    return _batches(chance) | {
        "noise_multiplier": _multiplier(chance),
        "inner": inner,
        "iterations": inner * epochs,
    }


def _steps(chance: random.Random) -> Entry:
    """Return iterations and eta: constant, or a short schedule."""
    if chance.random() < 0.7:
        return {"iterations": _iterations(chance), "eta": _decimal(chance, (-2, 1), (-6, 6))}
    number = chance.randint(1, MOST_SCHEDULE)
    return {"iterations": number, "eta": [_decimal(chance, (-2, 1), (-6, 6)) for _ in range(number)]}


def _models(chance: random.Random) -> Entry:
    entry = {"records": _whole(chance, (2, 6), (0, 12)), "rho": _decimal(chance, (-2, 2), (-6, 6))} | _steps(chance)
    if chance.random() < 0.5:
        return entry | {"noise_multiplier": _multiplier(chance)}
    return entry | {"clip": _decimal(chance, (-1, 1), (-6, 6)), "sigma": _decimal(chance, (-4, 2), (-20, 20))}


def _mpadmm(chance: random.Random) -> Entry:
    entry = _models(chance) | {"release": chance.choice(["all", "primal"])}
    if chance.random() < 0.3:
        entry["accounting"] = "separate"
    if chance.random() < 0.1:
        entry["noise"] = "discrete"
    return entry


def _dpadmm(chance: random.Random) -> Entry:
    entry = _models(chance)
    return entry | {"records": 10 * _whole(chance, (2, 6), (0, 12)), "parties": chance.randint(1, 10)}


def _gaussian(chance: random.Random) -> Entry:
    noise = {"noise": "discrete"} if chance.random() < 0.2 else {}
    return {"noise_multiplier": _multiplier(chance), "iterations": _iterations(chance)} | noise


def _spent(chance: random.Random) -> Entry:
    return {"epsilon": _decimal(chance, (-4, 0), (-20, 3)), "iterations": _whole(chance, (0, 2), (0, 12))}


def _objp(chance: random.Random) -> Entry:
    return {"records": _whole(chance, (2, 6), (0, 12))} | _spent(chance)


def _scale(chance: random.Random) -> Entry:
    return {"noise_multiplier": _decimal(chance, (0, 4), (-3, 20)), "iterations": _whole(chance, (0, 2), (0, 12))}


def _poisson(chance: random.Random) -> Entry:
    rate = _decimal(chance, (-5, -1), (-12, -0.01))
    return {"sampling_rate": rate, "noise_multiplier": _multiplier(chance), "iterations": _iterations(chance)}


def _related(make: Callable[[random.Random], Entry]) -> Callable[[random.Random], Entry]:
    return lambda chance: make(chance) | {"neighbours": ADD_OR_REMOVE}


Makers = dict[str, tuple[Callable[[random.Random], Entry], int]]
REPLACED: Final[Makers] = {
    "ssadmm": (_sampled, 6),
    "dpsgd": (_sampled, 3),
    "dpsvrg": (_dpsvrg, 2),
    "mpadmm": (_mpadmm, 3),
    "dpadmm": (_dpadmm, 2),
    "gaussian": (_gaussian, 2),
    "objp": (_objp, 1),
    "laplace": (_scale, 1),
    "pure": (_spent, 1),
}
ADDED: Final[Makers] = {
    "poisson": (_poisson, 3),
    "laplace": (_related(_scale), 1),
    "pure": (_related(_spent), 1),
}
