"""Released values that are given: met as exactly as the arithmetic allows, refused where no run would release them, and
followed by whatever is kept between releases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, findings
from verification.outcome import Finding, Outcome
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

STEPS, SIGMA = 3, 0.5
Run = Callable[[Records, OpaqueParameters, DeclaredRun], None]
COMPARED = ("sensitivity", "post-processing", "data-independence")


def clipped(data: Records, x: Floats, clip: float = 1.0) -> Floats:
    rows = (
        -(data.labels / (1.0 + np.exp(np.clip(data.labels * (data.features @ x), -700, 700))))[:, None] * data.features
    )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = (rows * np.minimum(1.0, clip / np.maximum(lengths, 1e-300))).mean(axis=0)
    return found


def judged(run: Run, *, claim: str = "5", seeded: bool = True, steps: int = STEPS) -> dict[str, Finding]:
    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> dict[str, object]:
        value = {"name": "x", "noise": "gaussian", "scale": SIGMA, "sensitivity": 2.0 / records, "norm": "l2"}
        model = {"name": "model", "noise": "none", "from": ["x"]}
        bound = {"kind": "clip", "radius": 1.0}
        return {"neighbours": "replace-one", "bound": bound, "iterations": steps, "values": [value, model]}

    session = InProcess("given", declare, run, seeded=seeded)
    found = findings(session, {}, epsilon=claim, delta="1e-5", seed=3, size=(12, 3), effort=0.05)
    return {finding.name: finding for finding in found}


def outcomes(found: dict[str, Finding]) -> list[Outcome]:
    return [found[name].outcome for name in COMPARED]


def descent(leak: float = 0.0, clip: float = 1.0, wrong: Callable[[Floats], None] = lambda _: None) -> Run:
    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x = np.zeros(data.features.shape[1])
        for _ in range(STEPS):
            x = run.release("x", x - clipped(data, x, clip), run.gaussian(len(x), SIGMA))
            wrong(x)
            run.processed("model", 2.0 * x + leak * data.features[0, 0])

    return run


# -- met as exactly as the arithmetic allows -------------------------------------------------------------------------


def by_its_noise(leak: float) -> Run:
    """In single precision what is given is met by the noise that leads to it, so to seven digits only."""

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x = np.zeros(data.features.shape[1], np.float32)
        for _ in range(STEPS):
            before = (x - clipped(data, x.astype(np.float64)).astype(np.float32)).astype(np.float32)
            noise = run.gaussian(len(x), SIGMA).astype(np.float32)
            shown = run.release(
                "x", before.astype(np.float64), noise.astype(np.float64), (before + noise).astype(float)
            )
            far = float(np.abs(shown).max()) > 50.0
            met = (before + (1e3 * shown - before).astype(np.float32) if far else shown).astype(np.float32)
            run.processed("model", (2 * met).astype(np.float64) + leak * data.features[0, 0])
            x = (met / (1e3 if far else 1.0)).astype(np.float32)

    return run


def test_given_values_that_are_met_to_seven_digits_accuse_nobody() -> None:
    assert outcomes(judged(by_its_noise(0.0))) == [Outcome.STANDS] * 3


def test_a_leak_of_single_precision_is_found() -> None:
    found = judged(by_its_noise(0.01))
    assert found["post-processing"].outcome is Outcome.REFUTED


def known_to_one_rounding(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    """The value before the noise is read as the total minus the noise."""
    total = clipped(data, np.zeros(data.features.shape[1])) + (noise := run.gaussian(data.features.shape[1], SIGMA))
    run.processed("model", run.release("x", total - noise, noise))


@pytest.mark.parametrize(("claim", "outcome"), [("0.2", Outcome.REFUTED), ("5", Outcome.STANDS)])
def test_a_value_that_is_known_to_one_rounding_attains_its_epsilon(claim: str, outcome: Outcome) -> None:
    assert judged(known_to_one_rounding, claim=claim, steps=1)["account"].outcome is outcome


# -- refused where no run would release them -------------------------------------------------------------------------


def singular(x: Floats) -> None:
    if np.abs(x).max() > 50.0:
        raise np.linalg.LinAlgError("Singular matrix")


def test_a_history_that_cannot_be_run_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = judged(descent(wrong=singular))
    assert capsys.readouterr().err.count("Traceback") == 1, "one for each line that raises, not for each history"
    assert outcomes(found) == [Outcome.STANDS] * 3
    assert "Singular matrix" in found["sensitivity"].detail
    assert judged(descent(clip=2.0, wrong=singular))["sensitivity"].outcome is Outcome.REFUTED


def test_where_no_history_can_be_run_nothing_is_concluded() -> None:
    def run(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        if run._outputs is not None:
            raise np.linalg.LinAlgError("Singular matrix")
        descent()(data, parameters, run)

    found = judged(run)
    assert outcomes(found) == [Outcome.INCONCLUSIVE] * 3
    assert "Singular matrix" in found["sensitivity"].detail


# -- followed by what is kept ----------------------------------------------------------------------------------------


def stubborn(*, noise_kept: bool, seeded: bool = True) -> Run:
    """What is given is shown, and the run goes on from its own value: with its noise, or without it."""

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x = np.zeros(data.features.shape[1])
        for _ in range(STEPS):
            before = x - clipped(data, x)
            noise = run.gaussian(len(x), SIGMA) if seeded else np.random.default_rng().normal(0.0, SIGMA, len(x))
            run.processed("model", 2.0 * run.release("x", before, noise))
            x = before + (noise if noise_kept else 0.0)

    return run


def test_state_that_does_not_follow_what_is_given_is_told_so() -> None:
    found = judged(stubborn(noise_kept=True))
    assert outcomes(found) == [Outcome.INCONCLUSIVE] * 3
    assert "must follow the values that are given as released" in found["sensitivity"].detail


def test_state_without_noise_is_still_refuted() -> None:
    assert judged(stubborn(noise_kept=False))["sensitivity"].outcome is Outcome.REFUTED


def test_an_adapter_that_ignores_what_is_given_is_told_so() -> None:
    class Deaf(DeclaredRun):
        def _forced(self, name: str, part: tuple[int, ...] | None = None) -> Floats | None:
            return None

    def run(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        run.__class__ = Deaf
        descent()(data, parameters, run)

    found = judged(run)
    assert outcomes(found) == [Outcome.INCONCLUSIVE] * 3
    assert "shows its own again" in found["sensitivity"].detail


def test_without_a_seed_the_same_is_told_as_a_reason() -> None:
    found = judged(stubborn(noise_kept=True, seeded=False), seeded=False)
    assert "does not follow the given values" in found["sensitivity"].detail
