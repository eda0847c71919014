"""What a mechanism declares of itself costs what its ledger costs, for every mechanism."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from accountant import ADMM, AccountantError, CannotCertifyError, Mechanism, NotPrivateError, SsADMM, mechanism_from
from accountant.errors import UnsupportedSchemeError
from accountant.mechanisms.declaration import Declaration, NoisyRelease, Protection, RecordBounds, declared_ledger
from accountant.mechanisms.registry import MECHANISMS
from accountant.mechanisms.words import Neighbours, Noise, Sampling

DRAWN = [sampling for sampling in Sampling if sampling not in (Sampling.POISSON, Sampling.ALL)]
NUMBERS = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=100)


@st.composite
def mechanisms(draw: st.DrawFn, algorithm: str) -> Mechanism:
    """A mechanism with any of its fields, where these do not contradict one another."""
    n, inner, epochs = draw(st.integers(4, 60)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    steps = inner * epochs
    etas = draw(st.one_of(NUMBERS, st.lists(NUMBERS, min_size=steps, max_size=steps)))
    noise = draw(st.sampled_from([{"noise_multiplier": draw(NUMBERS)}, {"sigma": draw(NUMBERS)}]))
    bound = {draw(st.sampled_from(["clip", "normalise"])): draw(NUMBERS)}
    batch = {"records": n, "batch": draw(st.integers(1, n)), "iterations": steps}
    group = {"group_size": draw(st.integers(1, 3))}
    drawn = {"sampling": draw(st.sampled_from(DRAWN)), **group}
    kind = {"noise": draw(st.sampled_from(Noise))}
    rate = draw(st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100))
    pure: dict[str, object] = {"iterations": steps, "neighbours": draw(st.sampled_from(Neighbours))}
    if draw(st.booleans()):
        pure |= {"sampling": Sampling.WITHOUT_REPLACEMENT, "sampling_rate": rate}
    models = {"records": n, "iterations": steps, "eta": etas, "rho": draw(NUMBERS)}
    written: dict[str, dict[str, object]] = {
        "ssadmm": {**batch, **drawn, **noise, **bound, **kind},
        "dpsgd": {**batch, **drawn, **noise, **bound, **kind},
        "dpsvrg": {
            **group,
            **batch,
            **noise,
            **bound,
            "inner": inner,
            **({"anchor_sigma": draw(NUMBERS)} if "sigma" in noise else {}),
        },
        "mpadmm": {**group, **models, **noise, **bound, **kind, "release": draw(st.sampled_from(["all", "primal"]))},
        "dpadmm": {**group, **models, **noise, **bound, "parties": draw(st.integers(1, 4))},
        "objp": {**group, **models, "epsilon": etas},
        "sadmm": {**batch, **bound},
        "admm": {"records": n, "iterations": steps},
        "gaussian": {**group, "noise_multiplier": draw(NUMBERS), "iterations": steps, **kind},
        "poisson": {**group, "sampling_rate": rate, "noise_multiplier": draw(NUMBERS), "iterations": steps},
        "laplace": {**group, "noise_multiplier": draw(NUMBERS), **pure},
        "pure": {**group, "epsilon": etas, **pure},
    }
    if algorithm == "mpadmm" and "sigma" in noise and not isinstance(etas, list) and draw(st.booleans()):
        written["mpadmm"]["sensitivity"] = "printed"
    try:
        return mechanism_from({"algorithm": algorithm, **written[algorithm]})
    except UnsupportedSchemeError:
        reject()


@pytest.mark.parametrize("algorithm", MECHANISMS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_declaration_costs_what_the_mechanism_costs(algorithm: str, data: st.DataObject) -> None:
    mechanism = data.draw(mechanisms(algorithm))
    try:
        ledger = mechanism.ledger()
    except AccountantError:  # no price, and none by a declaration
        with pytest.raises(AccountantError):
            declared_ledger(mechanism.declaration())
        return
    declaration = mechanism.declaration()
    found = declared_ledger(declaration)
    assert found.steps == (ledger.corrected or ledger.steps)
    assert found.neighbours is ledger.neighbours
    assert not declaration.bare
    names = [name for release in declaration.releases for name in release.names]
    assert len({*names, *declaration.computed}) == len(names) + len(declaration.computed)


def test_a_declaration_says_what_is_released_drawn_and_bounded() -> None:
    mechanism = SsADMM(records=100, batch=10, iterations=4, sigma=1, clip=2, sampling="without-replacement")
    assert mechanism.declaration() == Declaration(
        (NoisyRelease(("gradient",), Protection.GAUSSIAN, ((Fraction(4, 25), 4),), drawn=True),),
        computed=("x", "z", "y"),
        sampling=Sampling.WITHOUT_REPLACEMENT,
        rate=Fraction(1, 10),
        bounds=RecordBounds.CLIP,
        radius=Fraction(2),
    )


def test_half_the_noise_costs_what_half_the_noise_costs() -> None:
    mechanism, half = (
        SsADMM(records=100, batch=10, iterations=4, noise_multiplier=nu, sampling="without-replacement")
        for nu in (4, 2)
    )
    assert declared_ledger(mechanism.declaration().with_noise(Fraction(1, 2))).steps == half.ledger().steps


def test_what_nothing_protects_has_no_price() -> None:
    with pytest.raises(NotPrivateError, match="nothing protects x, z, y"):
        declared_ledger(ADMM(records=10, iterations=1).declaration())


def test_two_releases_of_one_batch_are_refused() -> None:
    release = NoisyRelease(("a",), Protection.GAUSSIAN, ((Fraction(1), 1),), drawn=True)
    both = Declaration((release, release), sampling=Sampling.WITHOUT_REPLACEMENT, rate=Fraction(1, 2))
    with pytest.raises(CannotCertifyError, match="share a batch"):
        declared_ledger(both)
