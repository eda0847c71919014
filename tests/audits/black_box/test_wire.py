"""Black boxes behind the wire: a function as an adapter, named faults, and every wrong subject refuted."""

from __future__ import annotations

import io
import json
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from audits.curves import GaussianCurve
from audits.eprocess.confidence import LowerBound
from dpadmm.cli.audit import above_by_chance, command
from tests.zoo.black_box import HONEST, WRONG, boxed
from tests.zoo.black_box.__main__ import CAMPAIGN, EVIDENCE, MEASURED, page_text
from tests.zoo.black_box.campaign import read_campaign
from tests.zoo.black_box.page import read_measured, wire_audit
from verification.outcome import Outcome
from verification.served.black_box import answer_streams, repeated
from verification.wire import Face
from verification.wire.arrays import pack
from verification.wire.faults import AdapterFault, Fault
from verification.wire.records import Records
from verification.wire.session import Session

SERVED = [sys.executable, "-m", "tests.zoo.black_box"]


def adapter(folder: Path, body: str) -> list[str]:
    path = folder / "adapter.py"
    path.write_text(textwrap.dedent(body), "utf-8")
    return [sys.executable, str(path)]


def run_command(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_a_function_is_an_adapter_and_the_document_holds_the_bound(tmp_path: Path) -> None:
    served = adapter(
        tmp_path,
        """
        from verification.served.black_box import serve_function

        def train(features, labels, rng):
            print("this goes to stderr")
            return {"sum": features.sum(axis=0) + rng.normal(0.0, 0.1, features.shape[1])}

        serve_function(train, "a sum")
        """,
    )
    options = ["--epsilon", "1", "--delta", "0", "--seed", "1", "--workers", "1", "--explore", "40", "--pairs", "100"]
    code, output = run_command("--black-box", *options, "--format", "json", "--", *served)
    document = json.loads(output)
    assert code == 1
    assert (document["kind"], document["outcome"], document["adapter"]) == ("black-box", "refuted", "a sum")
    assert float(document["lower_bound"]["epsilon"]) > 1.0
    assert document["lower_bound"]["confidence"] == "0.998"


@pytest.mark.parametrize(("options", "exit_code"), [([], 0), (["--labels", "-5", "5"], 1)])
def test_labels_of_a_declared_range_are_sent_at_its_ends(tmp_path: Path, options: list[str], exit_code: int) -> None:
    """A mean whose noise is for labels between -1 and 1, at an epsilon of 1 for these and of 5 for the others."""
    served = adapter(
        tmp_path,
        """
        from verification.served.black_box import serve_function

        def train(features, labels, rng):
            mean = (features * labels[:, None]).mean(axis=0)
            return mean + rng.laplace(0.0, 2.0 * len(mean) ** 0.5 / len(labels), mean.size)

        serve_function(train, "regression")
        """,
    )
    claimed = ["--epsilon", "1", "--delta", "0", "--seed", "1", "--workers", "1", "--detect-epsilon", "6", *options]
    code, output = run_command("--black-box", *claimed, "--explore", "40", "--pairs", "300", "--", *served)
    assert code == exit_code, output


def test_an_adapter_of_protocol_1_is_a_black_box_with_its_request(tmp_path: Path) -> None:
    request = {
        "algorithm": "ssadmm",
        "show": "last",
        "parameters": {
            "eta": [1.0],
            "iterations": 1,
            "rho": 1.0,
            "batch": 12,
            "sigma": 0.001,
            "clip": 1.0,
            "loss": "logistic",
            "regularizer": "l1",
            "lambda": 0.0,
        },
    }
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request), "utf-8")
    served = [sys.executable, "-m", "verification.served.loopback"]
    options = ["--epsilon", "1", "--request", str(path), "--explore", "40", "--pairs", "100", "--workers", "1"]
    code, output = run_command("--black-box", *options, "--", *served)
    assert code == 1, output
    assert "refuted" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--black-box"], "needs the claim"),
        (["--black-box", "--epsilon", "1", "--algorithm", "dpsgd"], "not with --black-box: --algorithm"),
        (["--epsilon", "1"], "only with --black-box: --epsilon"),
        (["--delta", "0"], "--delta 0 goes only with --black-box"),
        (["--black-box", "--epsilon", "1", "--no-library"], "needs a pair of your own"),
        (["--black-box", "--epsilon", "1", "--labels", "1", "1"], "the lower one first"),
    ],
)
def test_a_contradiction_on_the_command_line_is_a_usage_error(arguments: list[str], message: str) -> None:
    code, output = run_command(*arguments, "--", "true")
    assert code == 2
    assert message in output


@pytest.mark.parametrize(
    ("outcome", "delta", "times", "by_chance"),
    [
        (Outcome.STANDS, 1e-5, 1.1, True),
        (Outcome.INCONCLUSIVE, 1e-5, 1.1, True),
        (Outcome.STANDS, 1e-5, 0.9, False),
        (Outcome.REFUTED, 1e-5, 1.1, False),
        (Outcome.STANDS, None, 1.1, False),  # of a Renyi divergence
    ],
)
def test_a_bound_of_another_estimator_above_a_claim_that_stands_is_marked(
    outcome: Outcome, delta: float | None, times: float, by_chance: bool
) -> None:
    curve = GaussianCurve(0.5)
    bound = LowerBound("held out", times * curve.epsilon_at(1e-5), delta, 0.95, (), 100)
    result = SimpleNamespace(judged=SimpleNamespace(outcome=outcome), plan=SimpleNamespace(curve=curve))
    assert above_by_chance(bound, result) is by_chance  # type: ignore[arg-type]  # as much of a result as it looks at


def test_faults_keep_their_names(tmp_path: Path) -> None:
    wrong = """
    import json, sys
    for line in sys.stdin:
        request = json.loads(line)
        result = {"start": {"protocol": 1, "name": "x"}, "data": {}, "trials": ANSWER}[request["request"]]
        print(json.dumps({"id": request["id"], "result": result}), flush=True)
    """
    records = Records(np.zeros((2, 1)), np.array([1, -1]))
    for answer, fault in (
        ("{'a': [1.0]}", Fault.WRONG_SHAPE),
        ("{}", Fault.BAD_ANSWER),
        ("{'a': 'b'}", Fault.BAD_ANSWER),
    ):
        session = Session(adapter(tmp_path, wrong.replace("ANSWER", answer)), face=Face.BLACK_BOX)
        try:
            session.send(records, "D1")
            with pytest.raises(AdapterFault) as told:
                session.black_box_trials("D1", 3, None)
        finally:
            session.__exit__(RuntimeError, None, None)
        assert told.value.fault is fault


def test_what_a_black_box_says_beside_the_protocol_is_ignored(tmp_path: Path) -> None:
    """Members of its own in every answer, any last word, NaN in a list; null members of the request arrive."""
    told = """
    import json, sys
    for line in sys.stdin:
        request = json.loads(line)
        run = {"a": [float("nan")] * 2, "released": {"b": [[1, 2], [3, 4]]}} if request.get("own", 0) is None else {}
        kinds = {"start": {"protocol": 1, "name": "x", "version": 7}, "data": {"more": 1}, "trials": run, "stop": True}
        print(json.dumps({"id": request["id"], "result": kinds[request["request"]], "seconds": 0.1}), flush=True)
        if request["request"] == "stop":
            break
    """
    with Session(adapter(tmp_path, told), face=Face.BLACK_BOX, members={"own": None}) as session:
        session.send(Records(np.zeros((2, 1)), np.array([1, -1])), "D1")
        found = session.black_box_trials("D1", 2, 5)
    assert np.isnan(found["a"]).all()
    assert found["b"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_request_may_not_overwrite_what_the_audit_sets() -> None:
    with pytest.raises(ValueError, match="seed"):
        Session(["true"], face=Face.BLACK_BOX, members={"seed": 1})


def test_runs_of_different_lengths_are_filled_up() -> None:
    lengths = iter([1, 3])
    values = repeated(
        lambda *_: np.ones(next(lengths)), Records(np.zeros((1, 1)), np.array([1])), 2, np.random.default_rng()
    )
    assert np.isnan(values["released"]).sum() == 2


def test_a_crash_inside_becomes_an_error_answer_and_unknown_requests_are_skipped() -> None:
    def run(
        records: Records, count: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
        raise RuntimeError("inside")

    data = {"id": 1, "request": "data", "name": "D", "features": pack(np.zeros((1, 1))).model_dump(), "labels": [1]}
    lines = [data, {"id": 2, "request": "trials", "data": "D", "count": 1}, {"id": 3, "request": "replay"}]
    source = io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    sink = io.BytesIO()
    answer_streams(run, "x", source, sink)
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [sorted(answer) for answer in answers] == [["id", "result"], ["error", "id"], ["id", "skipped"]]


def test_the_subjects_are_served_by_name() -> None:
    with Session([*SERVED, "gaussian-mean"], face=Face.BLACK_BOX) as session:
        assert session.description.name == "gaussian-mean"


def test_the_page_of_evidence_is_what_its_files_say_and_they_show_what_is_stated() -> None:
    assert (EVIDENCE / "black-box.md").read_text("utf-8") == page_text()
    measured, tallies = {each.subject: each for each in read_measured(MEASURED)}, read_campaign(CAMPAIGN)
    assert list(measured) == [subject.identity for subject in (*WRONG, *HONEST)]
    assert {measured[subject.identity].outcome for subject in WRONG} == {"refuted"}
    assert "refuted" not in {measured[subject.identity].outcome for subject in HONEST}
    assert [tally.subject for tally in tallies] == [subject.identity for subject in HONEST]
    assert min(tally.audits for tally in tallies) >= 40
    assert min(tally.p_value for tally in tallies) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("identity", ["noise-where-not-empty"])
def test_a_wrong_subject_is_refuted_within_five_minutes_on_two_workers(identity: str) -> None:
    """All of them: ``python -m tests.zoo.black_box measure``, whose table is in docs/evidence/black-box.md."""
    result, _ = wire_audit(boxed(identity))
    assert result.outcome is Outcome.REFUTED
