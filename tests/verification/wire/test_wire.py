"""Messages, arrays, the two ends of the wire, and what hides a neighbour."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import ValidationError

from tools.protocol_schema import PUBLISHED
from verification.served.loopback import Loopback
from verification.served.serve import Server
from verification.served.stepwise import Stepwise
from verification.wire import Face
from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, PackedArray, as_lists, pack, unpack
from verification.wire.declaration import schema_text
from verification.wire.messages import Show, initial_point, parameters_for
from verification.wire.parameters import (
    PAPER,
    Algorithm,
    LossName,
    Parameters,
    RegularizerName,
    RegularizerOptions,
    Release,
    noised_names,
)
from verification.wire.records import Records
from verification.wire.session import HiddenPair, Session
from verification.wire.tape import Tape

LOOPBACK = [sys.executable, "-m", "verification.served.loopback"]
TRIVIAL = [sys.executable, str(Path(__file__).with_name("trivial.py"))]


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)))
def test_packed_arrays_come_back_bit_for_bit_with_nan_and_infinity(array: Floats) -> None:
    back = unpack(PackedArray.model_validate_json(pack(array).model_dump_json()), "a", array.shape)
    assert back.tobytes() == array.tobytes()
    assert back.shape == array.shape


@given(hnp.arrays(np.float64, (2, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_lists_come_back_bit_for_bit(array: Floats) -> None:
    assert np.array_equal(unpack(json.loads(json.dumps(as_lists(array))), "a", (2, 3)), array)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ([[1.0], [1.0, 2.0]], "rectangular"),
        (PackedArray(shape=[2], base64="AAAAAAAAAAA="), "must hold 16 bytes, got 8"),
        (PackedArray(shape=[1], base64="****"), "not base64"),
        ([1.0, 2.0, 3.0], r"must have shape \[2\], got \[3\]"),
    ],
)
def test_broken_arrays_are_named(wire: PackedArray | list[float], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        unpack(wire, "a", (2,))


def test_lists_refuse_to_carry_nan() -> None:
    with pytest.raises(ArrayError, match="pack the array"):
        as_lists(np.array([np.nan]))


def parameters(**changes: object) -> Parameters:
    base: dict[str, object] = {
        "loss": "logistic",
        "regularizer": "l1",
        "lambda": 0.1,
        "rho": 1.0,
        "eta": [1.0],
        "iterations": 1,
        "batch": 1,
        "sigma": 1.0,
        "clip": 1.0,
    }
    return Parameters.model_validate({**base, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eta": [1.0, 1.0]}, "eta must hold iterations=1"),
        ({"normalise": 1.0}, "exactly one of clip and normalise"),
        ({"clip": None}, "exactly one of clip and normalise"),
        ({"sigma": None}, "exactly one of sigma and noise_multiplier"),
        ({"noise_multiplier": 1.0}, "exactly one of sigma and noise_multiplier"),
        ({"options": {"a": 3.0}}, r"needs options \[\], got \['a'\]"),
        ({"regularizer": "scad"}, r"needs options \['a'\], got \[\]"),
        ({"rho": 0.0}, "greater than 0"),
        ({"rho": float("nan")}, "finite"),
        ({"batch": 1.5}, "valid integer"),
        ({"batch": True}, "valid integer"),
        ({"loss": "squared"}, "logistic"),
        ({"learning_rate": 1.0}, "Extra inputs"),
    ],
)
def test_incomplete_or_contradictory_parameters_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parameters(**changes)


def test_the_published_schema_is_current_and_accepts_what_is_sent() -> None:
    text = PUBLISHED.read_text(encoding="utf-8")
    assert text == schema_text(), "run: python -m tools.protocol_schema"
    schema = json.loads(text)
    request = m.TrialsRequest(
        id=1, data="D", algorithm=Algorithm.SSADMM, parameters=parameters(), count=2, show=Show.LAST
    )
    jsonschema.validate(json.loads(m.line_of(request)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"id": 1, "request": "trials"}, schema)


# -- the two ends -------------------------------------------------------------------------------------------------

DESCRIPTION = Loopback().describe()


def _problem_parameters(
    algorithm: Algorithm, regularizer: RegularizerName, loss: LossName, rng: np.random.Generator
) -> Parameters:
    return parameters_for(
        DESCRIPTION,
        algorithm,
        4,
        eta=[0.5, 2.0],
        batch=3,
        sigma=0.7,
        rho=0.5,
        lambda_=0.2,
        loss=loss,
        regularizer=regularizer,
        initial=initial_point(*rng.standard_normal((3, 4))),
    )


def problems() -> list[tuple[Algorithm, Parameters, Records]]:
    rng = np.random.default_rng(7)
    records = Records(rng.standard_normal((9, 4)), np.where(rng.random(9) < 0.5, -1, 1).astype(np.int64))
    found = [
        (algorithm, _problem_parameters(algorithm, regularizer, loss, rng), records)
        for algorithm in PAPER
        for regularizer in RegularizerName
        for loss in LossName
    ]
    algorithm, last, _ = found[-1]
    found.append((algorithm, last.model_copy(update={"release": Release.PRIMAL}), records))
    return found


def test_the_reference_taken_apart_computes_what_the_reference_computes() -> None:
    """Replay to rounding, trials of a seed to rounding: the same draws in the same order."""
    whole, parts = Loopback(), Stepwise()
    rng = np.random.default_rng(8)
    for algorithm, given_parameters, records in problems():
        names = noised_names(algorithm, given_parameters)
        noise = {name: rng.standard_normal((2, 4)) for name in names}
        batches = None if given_parameters.batch is None else np.array([[0, 4, 8], [1, 2, 3]])
        answers = [side.replay(records, algorithm, given_parameters, noise, batches) for side in (whole, parts)]
        trials = [side.trials(records, algorithm, given_parameters, 5, 11) for side in (whole, parts)]
        for first, second in (answers, trials):
            for name in ("x", "z", "y"):
                np.testing.assert_allclose(first[name], second[name], rtol=0, atol=1e-12)


def test_the_loopback_scales_noise_by_itself_where_it_is_asked_to() -> None:
    """With a multiplier the noise follows eta^k: different in the two epochs."""
    records = Records(np.zeros((6, 2)), np.ones(6, dtype=np.int64))
    by_multiplier = parameters_for(
        DESCRIPTION, Algorithm.MPADMM, 2, eta=[4.0, 0.5], noise_multiplier=3.0, release=Release.PRIMAL
    )
    x = Loopback().trials(records, Algorithm.MPADMM, by_multiplier, 20_000, 1)["x"]
    expected = [3.0 * 2 * eta / (6 * (1 + eta)) for eta in (4.0, 0.5)]
    assert x[:, 0].std() == pytest.approx(expected[0], rel=0.02)
    assert (x[:, 1] - (x[:, 0] / 0.5 + x[:, 0]) / 3.0).std() == pytest.approx(expected[1], rel=0.02)


def test_words_of_an_adapter_cannot_steer_a_terminal() -> None:
    refused = m.Refusal.model_validate({"kind": "internal", "message": "no\x1b[2J\u202e\nbecause"})
    assert refused.message == "no?[2J?\nbecause"
    described = Loopback().describe().model_dump(mode="json") | {"name": "clean\x07"}
    assert m.StartResult.model_validate(described).name == "clean?"


def test_a_server_answers_nonsense_with_an_error_and_lives_on() -> None:
    server = Server(Loopback())
    for line in (b"hello\n", b"{}\n", b'{"id": 5, "request": "dance"}\n', b'{"id": 6, "request": "stop", "x": 1}\n'):
        answer = json.loads(server.answer(line))
        assert answer["error"]["kind"] == "invalid-parameters"
    assert json.loads(server.answer(b'{"id": 5, "request": "dance"}'))["id"] == 5
    assert not server.stopped


def test_a_server_ends_at_the_end_of_input() -> None:
    sink = io.BytesIO()
    Server(Loopback()).serve(io.BytesIO(b'{"id": 1, "request": "start", "protocol": 1}\n'), sink)
    assert json.loads(sink.getvalue())["result"]["name"] == "dpadmm reference"


def test_unsuitable_options_are_refused_by_the_loopback_with_a_reason() -> None:
    server = Server(Loopback())
    server.answer(b'{"id": 1, "request": "data", "name": "D", "features": [[1.0]], "labels": [1]}')
    jumping = parameters(regularizer="scad", options=RegularizerOptions(a=3.7).model_dump(exclude_none=True), rho=0.25)
    request = m.TrialsRequest(id=2, data="D", algorithm=Algorithm.SSADMM, parameters=jumping, count=1, show=Show.LAST)
    answer = json.loads(server.answer(m.line_of(request)))
    assert "a > 1 + 1/rho" in answer["error"]["message"]


# -- hiding ---------------------------------------------------------------------------------------------------------


class Spy(Session):
    """A session that remembers what it was asked, instead of asking."""

    def __init__(self) -> None:  # no process
        self.sent: list[tuple[str, float]] = []
        self.description = DESCRIPTION

    def send(self, records: Records, name: str | None = None, *, packed: bool = True, may_refuse: bool = False) -> str:
        self.sent.append((name or "", float(records.features[0, 0])))
        return name or ""


class Counting(Session):
    """A session that numbers what it is sent, and has no process."""

    def __init__(self) -> None:
        self._prepare(Face.PAPER)
        self._count = 0

    def send(self, records: Records, name: str | None = None, *, packed: bool = True, may_refuse: bool = False) -> str:
        self._count += 1
        return f"D{self._count}"


def test_records_are_sent_once_and_again_for_a_tape() -> None:
    """What is on a tape must be complete: with one, the same records go over the wire each time."""
    session = Counting()
    labels = np.ones(1, dtype=np.int64)
    first, second, third = (Records(np.array([[value]]), labels) for value in (1.0, 2.0, 3.0))
    assert [session.send_once(r) for r in (first, second, first, second)] == ["D1", "D2", "D1", "D2"]
    assert [session.send_once(r) for r in (third, first)] == ["D3", "D4"]
    session.tape = Tape()
    assert session.send_once(first) == "D5"


def test_neither_name_nor_order_tells_which_neighbour_is_which() -> None:
    """Over 400 pairs the first neighbour is sent first, and has the smaller name, about half of the time."""
    labels = np.ones(1, dtype=np.int64)
    first, second = (Records(np.array([[value]]), labels) for value in (1.0, 2.0))
    sent_first = smaller_name = 0
    for seed in range(400):
        spy = Spy()
        HiddenPair(spy, first, second, np.random.default_rng(seed))
        names = {value: name for name, value in spy.sent}
        sent_first += spy.sent[0][1] == 1.0
        smaller_name += names[1.0] < names[2.0]
    # Six standard deviations of a fair coin: 200 +- 60.
    assert 140 < sent_first < 260
    assert 140 < smaller_name < 260


def test_a_hidden_pair_answers_in_the_callers_order() -> None:
    labels = np.ones(4, dtype=np.int64)
    calm, wild = Records(np.zeros((4, 2)), labels), Records(np.full((4, 2), 9.0), labels)
    chosen = parameters_for(DESCRIPTION, Algorithm.MPADMM, 2, eta=[1.0], sigma=1e-6)
    with Session(LOOPBACK) as session:
        for seed in range(8):
            pair = HiddenPair(session, calm, wild, np.random.default_rng(seed))
            first, second = pair.trials(Algorithm.MPADMM, chosen, 3)
            assert np.abs(first.x).max() < 1e-4 < np.abs(second.x).min()


# -- speed ----------------------------------------------------------------------------------------------------------


def test_a_trivial_adapter_carries_a_hundred_thousand_trials_a_second() -> None:
    records = Records(np.zeros((4, 4)), np.ones(4, dtype=np.int64))
    rates = []
    with Session(TRIVIAL) as session:
        name = session.send(records)
        chosen = parameters_for(session.description, Algorithm.SSADMM, 4, eta=[1.0], batch=2, sigma=1.0)
        for _ in range(5):
            began = time.perf_counter()
            run = session.trials(name, Algorithm.SSADMM, chosen, 50_000, show=Show.LAST)
            rates.append(50_000 / (time.perf_counter() - began))
            assert run.x.shape == (50_000, 4)
    assert max(rates) > 100_000, rates
