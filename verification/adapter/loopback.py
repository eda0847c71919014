"""The reference behind the wire, like everybody else's code: ``python -m verification.adapter.loopback``.

Replay goes through `reference.ssadmm` and `reference.mpadmm` themselves, trials through `reference.many`. Only
noise that differs between epochs, which `reference.many` does not offer, goes through the stepwise twin.
"""

from __future__ import annotations

import secrets

import numpy as np

from reference.many import mpadmm_many, ssadmm_many
from reference.mpadmm import ModelNoise, mpadmm
from reference.schedules import Listed
from reference.ssadmm import ssadmm
from verification.adapter.parameters import Algorithm, Parameters
from verification.adapter.records import Records
from verification.adapter.serve import Values, serve
from verification.adapter.stepwise import Batches, Stepwise
from verification.adapter.translate import initial_of, release_of, sigmas


class Loopback(Stepwise):
    """The reference itself."""

    name = "dpadmm reference"

    def replay(
        self,
        records: Records,
        algorithm: Algorithm,  # noqa: ARG002 - the wire's signature; batches already tell
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        """Run the deterministic core on what was sent."""
        problem = self.problem(records, parameters)
        initial = initial_of(parameters, problem.dimension)
        if batches is not None:
            states = ssadmm(problem, initial, step_sizes=parameters.eta, batches=batches, noise=noise["gradient"])
        else:
            gammas = [
                ModelNoise(**{name: array[k] for name, array in noise.items()}) for k in range(parameters.iterations)
            ]
            states = mpadmm(problem, initial, step_sizes=parameters.eta, noise=gammas, release=release_of(parameters))
        kept = list(states)
        return {name: np.stack([getattr(state, name) for state in kept]) for name in ("x", "z", "y")}

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Run the vectorised shells; without a seed, on 128 bits of the system's entropy."""
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


if __name__ == "__main__":
    serve(Loopback())
