"""The reference implementation as an adapter: ``python -m verification.served.loopback [NAME ...]``.

Without arguments it serves the paper's two algorithms, else those that are named (`dpsgd`, `dpadmm`, ...; `baselines`
for all of those). Replay goes through the deterministic cores of `reference` themselves, trials of the paper's
algorithms through `ssadmm_many` and `mpadmm_many`. Noise that differs between epochs, which these do not offer, and the
trials of the baselines go through `stepwise`, on the same engine.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence

import numpy as np

from reference.schedules import Listed
from reference.vectorised import mpadmm_many, ssadmm_many
from verification.served.cores import CORES, Inputs
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches
from verification.served.stepwise_baselines import StepwiseBaselines, shown
from verification.served.translate import initial_of, release_of, sigmas
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records
from verification.wire.schemes import BASELINES, PAPER


class Loopback(StepwiseBaselines):
    """The reference itself."""

    name = "dpadmm reference"

    def __init__(self, algorithms: tuple[Algorithm, ...] = PAPER) -> None:
        self._offered = algorithms

    @property
    def offered(self) -> tuple[Algorithm, ...]:
        """What it was told to serve."""
        return self._offered

    def replay(
        self,
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        """Run the deterministic core on what was sent."""
        problem = self.problem(records, parameters)
        states = CORES[algorithm](
            problem, initial_of(parameters, problem.dimension), Inputs(parameters, noise, batches)
        )
        kept = [shown(algorithm, state) for state in states]
        return {name: np.stack([values[name] for values in kept]) for name in kept[0]}

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Run the vectorised shells; without a seed, on 128 bits of the system's entropy."""
        if algorithm not in PAPER:
            return super().trials(records, algorithm, parameters, count, seed)
        problem = self.problem(records, parameters)
        every_sigma = sigmas(algorithm, parameters, problem.records)
        sigma = float(every_sigma[0])
        if (every_sigma != sigma).any():
            return super().trials(records, algorithm, parameters, count, seed)
        initial = initial_of(parameters, problem.dimension)
        schedule = Listed(tuple(parameters.eta))
        seed = secrets.randbits(128) if seed is None else seed
        if parameters.batch is not None:
            states = ssadmm_many(
                problem,
                initial,
                schedule=schedule,
                batch=parameters.batch,
                sigma=sigma,
                iterations=parameters.iterations,
                seed=seed,
                runs=range(count),
            )
        else:
            states = mpadmm_many(
                problem,
                initial,
                schedule=schedule,
                sigma=sigma,
                epochs=parameters.iterations,
                release=release_of(parameters),
                seed=seed,
                runs=range(count),
            )
        return {"x": states.x, "z": states.z, "y": states.y}


def main(arguments: Sequence[str]) -> int:
    """Serve what is named, or the paper's algorithms; 2 for a name that is none."""
    try:
        named = [BASELINES if word == "baselines" else (Algorithm(word),) for word in arguments]
    except ValueError:
        known = ", ".join([*Algorithm, "baselines"])
        print(f"unknown algorithm in {list(arguments)}; known are {known}", file=sys.stderr)
        return 2
    serve(Loopback(tuple(dict.fromkeys(a for each in named for a in each)) or PAPER))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
