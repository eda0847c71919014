"""`dpadmm account` and `dpadmm calibrate`: what they print, what they refuse, and with which exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypedDict

import pytest

from accountant import Certificate, SsADMM, pricing, read_certificate
from accountant.certificates.certificate import ledger_record
from dpadmm.cli import main

SSADMM = ["--records=1000", "--batch=100", "--noise-multiplier=4", "--iterations=20", "--delta=1e-6"]
MPADMM = ["--records=1000", "--rho=0.5", "--clip=1", "--sigma=0.01", "--iterations=10", "--delta=1e-8"]


class Calibrated(TypedDict):
    """The part of a calibration's JSON that is looked at here."""

    value: str
    sigma: str | None
    epsilon: dict[str, str]


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def price(self) -> Certificate:
        return read_certificate(self.out)

    def calibrated(self) -> Calibrated:
        document: Calibrated = json.loads(self.out)
        return document


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["dpadmm", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    return call


def test_the_json_is_a_certificate_that_checks(run: Run, tmp_path: Path) -> None:
    priced = run("account", "ssadmm", *SSADMM, "--format", "json")
    assert priced.code == 0
    document = priced.price()
    assert 0 < Fraction(document.epsilon.lower) <= Fraction(document.epsilon.upper)
    assert set(document.methods) == {"lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks", "profile"}
    for record in json.loads(priced.out)["methods"].values():
        assert {"epsilon", "alpha", "theorem"} <= set(record)
        assert Fraction(record["epsilon"]) > 0
    file = tmp_path / "price.json"
    file.write_text(priced.out)
    checked = run("account", "--check", str(file))
    assert checked.code == 0
    assert "certified" in checked.out


def test_a_forged_certificate_exits_1_and_an_unreadable_one_2(run: Run, tmp_path: Path) -> None:
    priced = run(
        "account", "gaussian", "--noise-multiplier", "30", "--iterations", "50", "--delta", "1e-8", "--format", "json"
    )
    document = json.loads(priced.out)
    document["epsilon"]["upper"] = "1"
    file = tmp_path / "forged.json"
    file.write_text(json.dumps(document))
    assert run("account", "--check", str(file)).code == 1
    file.write_text("{}")
    assert run("account", "--check", str(file)).code == 2
    assert run("account", "--check", str(tmp_path / "absent.json")).code == 2


def test_thirty_digits_of_the_plain_gaussian(run: Run) -> None:
    arguments = ["--noise-multiplier=30", "--iterations=50", "--delta=1e-8", "--digits=30", "--format=json"]
    interval = run("account", "gaussian", *arguments).price().epsilon
    assert interval.lower.startswith("1.2145993909239961027661628161")
    assert Fraction(interval.upper) - Fraction(interval.lower) <= Fraction(12, 10**30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ssadmm", *SSADMM[:-1], "--delta", "0"], "delta must lie strictly between 0 and 1"),
        (["ssadmm", *SSADMM[:-1], "--delta", "1.5"], "delta must lie strictly between 0 and 1"),
        (["ssadmm", *SSADMM, "--batch", "1001"], "batch must be at most records"),
        (["ssadmm", *SSADMM, "--iterations", "0"], "iterations must be >= 1"),
        (["ssadmm", *SSADMM, "--noise-multiplier", "nan"], "noise_multiplier must be a finite number"),
        (["ssadmm", *SSADMM, "--noise-multiplier", "-1"], "noise_multiplier must be finite and > 0"),
        (["ssadmm", *SSADMM, "--sampling", "poisson"], "without-replacement"),
        (["ssadmm", *SSADMM, "--group-size", "0"], "group_size must be >= 1"),
        (["ssadmm", *SSADMM, "--group-size", "10000000"], "group_size must be at most records"),
        (["ssadmm", *SSADMM, "--group-size", "2", "--noise", "discrete"], "real Gaussian noise alone"),
        (["ssadmm", *SSADMM, "--noise", "discrete", "--method", "profile"], "not proved"),
        (["ssadmm", *SSADMM, "--sigma", "1"], "either noise_multiplier, or sigma and with it clip"),
        (["mpadmm", *MPADMM, "--eta", "1", "--eta", "2"], "eta must be one value or 10 values"),
        (["mpadmm", *MPADMM, "--eta", "1", "--a", "2"], "a > 1 + 1/rho"),
        (["mpadmm", *MPADMM, "--eta", "1", "--a", "9", "--gamma", "9"], "one of a, gamma and lipschitz"),
        (["ssadmm", "--records", "10"], "Missing option '--iterations'"),
        (["ssadmm", *SSADMM[:-1]], "Missing option '--delta'"),
        ([], "name a mechanism"),
    ],
)
def test_bad_input_exits_2_and_says_what_would_be_right(run: Run, arguments: list[str], message: str) -> None:
    outcome = run("account", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""


def test_printed_sensitivities_that_are_violated_exit_1_with_the_truth(run: Run) -> None:
    outcome = run("account", "mpadmm", *MPADMM, "--eta", "4", "--sensitivity", "printed", "--format", "json")
    assert outcome.code == 1
    assert "16 times" in outcome.err
    document = outcome.price()
    assert not document.sound
    assert Fraction(document.epsilon.lower) > Fraction(document.methods["gdp"].upper)
    assert run("account", "mpadmm", *MPADMM, "--eta", "1", "--sensitivity", "printed").code == 0


def test_what_refutes_a_claim_is_said_once_and_on_a_line_of_its_own(run: Run) -> None:
    refuted = run("account", "mpadmm", *MPADMM, "--eta", "4", "--sensitivity", "printed")
    assert refuted.out.endswith("\n")
    assert "note:" not in refuted.out
    assert refuted.err.startswith("refuted: printed sensitivities (E1) are violated here")
    assert refuted.err.count("\n") == 1
    valid = run("account", "mpadmm", *MPADMM, "--eta", "0.5", "--sensitivity", "printed")
    assert valid.out.splitlines()[-1].startswith("note: printed sensitivities (E1): valid here")
    assert valid.err == ""


TWO_PHASES = """
[[step]]
algorithm = "ssadmm"
records = 1000
batch = 100
noise_multiplier = 4
iterations = 20
[[step]]
algorithm = "ssadmm"
records = 1000
batch = 50
sigma = 0.16
clip = "1"
iterations = 7
"""


@pytest.mark.slow
def test_a_file_of_steps_is_priced_like_the_ledgers_it_lists(run: Run, tmp_path: Path) -> None:
    toml, as_json = tmp_path / "run.toml", tmp_path / "run.json"
    toml.write_text(TWO_PHASES)
    as_json.write_text(
        '[{"algorithm": "ssadmm", "records": 1000, "batch": 100, "noise_multiplier": "4", "iterations": 20},'
        ' {"algorithm": "ssadmm", "records": 1000, "batch": 50, "noise_multiplier": 4.0, "iterations": 7}]'
    )
    first = run("account", "ledger", str(toml), "--delta", "1e-6", "--format", "json")
    assert first.code == 0, first.err
    second = run("account", "ledger", str(as_json), "--delta", "1e-6", "--format", "json")
    # the same steps, described by sigma and clip, or by their ratio
    assert (first.price().ledger, first.price().epsilon) == (second.price().ledger, second.price().epsilon)
    parts = [SsADMM(records=1000, batch=m, noise_multiplier=4, iterations=T).ledger() for m, T in ((100, 20), (50, 7))]
    assert first.price().ledger == ledger_record(parts[0] + parts[1])
    assert Fraction(first.price().epsilon.lower) > 0
    text = run("account", "ledger", str(toml), "--delta", "1e-6", "--method", "profile")
    assert text.out.startswith("epsilon in [")
    certificate = tmp_path / "price.json"
    certificate.write_text(first.out)
    assert run("account", "--check", str(certificate)).code == 0


@pytest.mark.parametrize(
    "step",
    [
        'algorithm = "gaussian"\nnoise_multiplier = 20\niterations = 3',
        'algorithm = "mpadmm"\nrecords = 1000\neta = 1\nrho = 0.5\nclip = 1\nsigma = 0.05\niterations = 3',
    ],
)
def test_mechanisms_may_be_mixed_and_the_lower_end_is_that_of_a_part(run: Run, tmp_path: Path, step: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(TWO_PHASES + "[[step]]\n" + step + "\n")
    priced = run("account", "ledger", str(file), "--delta", "1e-6", "--method", "profile", "--format", "json")
    assert priced.code == 0, priced.err
    document = priced.price()
    assert 0 < Fraction(document.epsilon.lower) < Fraction(document.epsilon.upper)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[[step]\n", "cannot be read"),
        ("a.json", "[1,", "line 1 column"),
        ("a.toml", "", "one or more steps"),
        ("a.toml", "steps = 1", "one or more steps"),
        ("a.json", "[]", "one or more steps"),
        ("a.json", "[3]", "step 1: "),
        ("a.toml", TWO_PHASES.replace("batch = 50", "batch = 5000"), "step 2: batch must be at most records"),
        ("a.toml", TWO_PHASES.replace("iterations = 7", "iterations = 0"), "step 2: iterations must be >= 1"),
        (
            "a.toml",
            TWO_PHASES.replace("iterations = 7", "iterations = 7.5"),
            "step 2: iterations must be a whole number",
        ),
        (
            "a.toml",
            TWO_PHASES.replace("iterations = 7", "iteratoins = 7"),
            "step 2: iteratoins: unknown key; did you mean 'iterations'",
        ),
        (
            "a.toml",
            TWO_PHASES.replace("iterations = 20", "iterations = true"),
            "step 1: iterations must be a whole number",
        ),
        ("a.toml", TWO_PHASES.replace("sigma = 0.16", "sigma = -1"), "step 2: sigma must be finite and > 0"),
        ("a.toml", TWO_PHASES.replace("sigma = 0.16", "sigma = nan"), "step 2: sigma"),
        ("a.toml", TWO_PHASES.replace("sigma = 0.16", ""), "step 2: give either noise_multiplier, or sigma"),
        ("a.toml", TWO_PHASES.replace("clip", 'sampling = "poisson"\nclip'), "step 2: this theorem needs"),
        ("a.toml", TWO_PHASES.replace("ssadmm", "magic", 1), "step 1: "),
        (
            "a.toml",
            TWO_PHASES + '[[step]]\nalgorithm = "poisson"\nsampling_rate = 0.1\nnoise_multiplier = 2\niterations = 1\n',
            "one neighbouring relation",
        ),
    ],
)
def test_a_bad_file_of_steps_exits_2_and_names_the_place(
    run: Run, tmp_path: Path, name: str, text: str, message: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    outcome = run("account", "ledger", str(file), "--delta", "1e-6")
    assert (outcome.code, outcome.out) == (2, "")
    assert str(file) in outcome.err
    assert message in outcome.err


def test_a_file_that_is_not_there_exits_2(run: Run, tmp_path: Path) -> None:
    assert run("account", "ledger", str(tmp_path / "none.toml"), "--delta", "1e-6").code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        "dpsgd --records 1000 --batch 10 --sigma 0.4 --clip 1 --iterations 5 --method lemma2-cks",
        "mpadmm --records 1000 --eta 1 --rho 0.5 --clip 1 --sigma 0.01 --iterations 10 --release primal",
        "mpadmm --records 1000 --eta 1 --rho 1 --clip 1 --sigma 0.01 --iterations 10 --gamma 3",
        "dpadmm --records 1000 --eta 1 --rho 0.5 --clip 1 --sigma 0.1 --iterations 10",
        "objp --records 1000 --epsilon 0.01 --iterations 100",
        "dpsvrg --records 1000 --batch 100 --iterations 10 --inner 5 --clip 1 --anchor-sigma 0.01 --sigma 0.2",
        "poisson --sampling-rate 0.01 --noise-multiplier 2 --iterations 100 --method rdp-prop1",
    ],
)
def test_every_mechanism_is_priced(run: Run, arguments: str) -> None:
    outcome = run("account", *arguments.split(), "--delta", "1e-6")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("epsilon in [")


def test_the_picture_is_drawn_and_an_unknown_format_refused(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "price.svg"
    assert run("account", "gaussian", "--noise-multiplier", "5", "--delta", "1e-6", "--plot", str(picture)).code == 0
    assert "<svg" in picture.read_text()
    refused = run(
        "account", "gaussian", "--noise-multiplier", "5", "--delta", "1e-6", "--plot", str(tmp_path / "x.xyz")
    )
    assert refused.code == 2
    assert not (tmp_path / "x.xyz").exists()


def test_calibrated_noise_is_priced_within_the_target(run: Run) -> None:
    asked = (
        "calibrate ssadmm --records 1000 --batch 100 --iterations 20 --clip 1 --epsilon 1 --delta 1e-6 --format json"
    )
    found = run(*asked.split())
    assert found.code == 0
    document = found.calibrated()
    assert Fraction(document["epsilon"]["upper"]) <= 1
    priced = run("account", "ssadmm", *SSADMM, "--noise-multiplier", document["value"], "--format", "json").price()
    assert Fraction(priced.epsilon.upper) <= Fraction(1) + Fraction(1, 10**4)
    assert document["sigma"] is not None
    assert Fraction(document["sigma"]) >= Fraction(document["value"]) * 2 / 100


@pytest.mark.parametrize(
    "arguments",
    [
        "ssadmm --records 1000 --batch 100 --noise-multiplier 4 --for iterations",
        "ssadmm --records 1000 --iterations 5 --noise-multiplier 4 --for batch",
        "mpadmm --records 1000 --eta 1 --rho 0.5 --clip 1 --iterations 10",
        "mpadmm --records 1000 --eta 1 --rho 0.5 --clip 1 --sigma 0.1 --for iterations",
        "dpadmm --records 1000 --eta 1 --rho 0.5 --clip 1 --iterations 10",
        "objp --records 1000 --iterations 10",
        "dpsvrg --records 1000 --batch 100 --iterations 10 --inner 5 --clip 1",
        "gaussian --iterations 5",
    ],
)
def test_every_mechanism_is_calibrated(run: Run, arguments: str) -> None:
    outcome = run("calibrate", *arguments.split(), "--epsilon", "1", "--delta", "1e-6", "--format", "json")
    assert outcome.code == 0, outcome.err
    assert Fraction(outcome.calibrated()["epsilon"]["upper"]) <= 1


@pytest.mark.parametrize(
    "arguments",
    [
        "ssadmm --records 1000 --batch 100 --iterations 20 --noise-multiplier 4",
        "ssadmm --records 1000 --batch 100",
        "ssadmm --records 1000 --batch 100 --sigma 1 --clip 1 --iterations 3 --for batch",
        "mpadmm --records 1000 --eta 1 --rho 0.5 --clip 1 --for iterations",
    ],
)
def test_contradictions_exit_2(run: Run, arguments: str) -> None:
    assert run("calibrate", *arguments.split(), "--epsilon", "1", "--delta", "1e-6").code == 2


def test_a_target_out_of_reach_exits_3(run: Run) -> None:
    arguments = (
        "calibrate ssadmm --records 10 --batch 5 --noise-multiplier 0.1 --for iterations --epsilon 0.01 --delta 1e-6"
    )
    outcome = run(*arguments.split())
    assert outcome.code == 3
    assert "not even one" in outcome.err


def test_the_batch_at_a_fixed_sigma_meets_the_target_and_says_what_was_not_tried(run: Run) -> None:
    shared = "calibrate ssadmm --records 1000 --clip 1 --iterations 200 --for batch --epsilon 1 --delta 1e-6"
    met = run(*shared.split(), "--sigma", "0.16")
    assert met.code == 0, met.err
    assert met.out.startswith("batch = 1000\n")
    assert "not proved to grow with the batch" in met.out
    missed = run(*shared.split(), "--sigma", "0.02")
    assert missed.code == 3
    assert "neither 1000 nor a half" in missed.err
    assert run(*shared.split()).code == 2


W1 = ("ssadmm", "--records", "48842", "--batch", "221", "--noise-multiplier", "4", "--iterations", "2210")


def test_the_default_answer_is_three_lines(run: Run) -> None:
    """Both ends, the theorem, and what it would take to prove less; the table on demand."""
    ends, theorem, less = run("account", *W1, "--delta", "1e-8", "--effort", "quick").out.splitlines()
    assert ends.startswith("epsilon in [0.262")
    assert theorem.startswith("at most 0.284")
    assert "[BBG18]" in theorem
    assert less.startswith("up to 7.8% less may be proved: --effort tight")
    shown = run("account", *W1, "--delta", "1e-8", "--effort", "quick", "--methods").out
    assert "lemma2-prop1" in shown
    exact = run("account", "gaussian", "--noise-multiplier", "2", "--delta", "1e-8").out
    assert exact.splitlines()[2].startswith("hardly less can be proved")


@pytest.mark.standard_effort
def test_the_exact_adversary_is_used_where_it_gains(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any option, and its certificate checks; a limit that is too short leaves the quick answer."""
    few = ["ssadmm", "--records=100", "--batch=10", "--noise-multiplier=2", "--iterations=60", "--delta=1e-6"]
    monkeypatch.setattr(pricing, "STANDARD_SECONDS", 600.0)  # whatever the load of the machine
    tight = run("account", *few, "--format=json").price()
    quick = run("account", *few, "--format=json", "--effort=quick").price()
    assert "adversary" in tight.methods
    assert "adversary" not in quick.methods
    assert Fraction(tight.epsilon.lower) >= Fraction(quick.epsilon.lower)
    assert Fraction(tight.epsilon.upper) < Fraction(quick.epsilon.upper) * Fraction(98, 100)
    monkeypatch.setattr(pricing, "STANDARD_SECONDS", 1e-3)
    late = run("account", *few, "--format=json").price()
    assert late.epsilon == quick.epsilon
    assert "time limit" in late.refused["adversary"]
    assert "--effort tight" in run("account", *few).out


@pytest.mark.standard_effort
@pytest.mark.parametrize(("batch", "iterations", "delta"), [(500, 10**9, "0.9"), (500, 10**12, "1e-5")])
def test_nobody_is_sent_to_a_method_that_refuses(run: Run, batch: int, iterations: int, delta: str) -> None:
    """Ends that are far apart, and an epsilon too large for the exact adversary whatever time it has."""
    asked = ["ssadmm", "--records=1000", f"--batch={batch}", "--noise-multiplier=4", f"--iterations={iterations}"]
    shown = run("account", *asked, "--delta", delta, "--methods").out
    assert "adversary: no answer: epsilon is about" in shown
    assert "--effort" not in shown


@pytest.mark.slow
@pytest.mark.standard_effort
@pytest.mark.parametrize(
    ("records", "batch", "nu", "iterations"),
    [(48842, 221, 4, 2210), (48842, 221, 2, 2210), (40000, 200, 1, 200), (1000, 100, 8, 1000)],
)
def test_the_worked_examples_are_within_one_per_cent_by_default(
    run: Run, records: int, batch: int, nu: int, iterations: int
) -> None:
    asked = [f"--records={records}", f"--batch={batch}", f"--noise-multiplier={nu}", f"--iterations={iterations}"]
    found = run("account", "ssadmm", *asked, "--delta=1e-8", "--format=json").price()
    assert Fraction(found.epsilon.upper) <= Fraction(found.epsilon.lower) * Fraction(101, 100)


@pytest.mark.slow
@pytest.mark.standard_effort
def test_calibration_uses_it_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "STANDARD_SECONDS", 600.0)
    few = ["ssadmm", "--records=100", "--batch=10", "--iterations=60", "--epsilon=2", "--delta=1e-6", "--format=json"]
    tight, quick = run("calibrate", *few).calibrated(), run("calibrate", *few, "--effort=quick").calibrated()
    assert Fraction(tight["epsilon"]["upper"]) <= 2
    assert Fraction(tight["value"]) < Fraction(quick["value"]) * Fraction(98, 100)
