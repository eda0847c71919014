from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from accountant import SsADMM, epsilon, pricing
from accountant.numbers import fraction_of
from dpadmm.cli import main
from reference.dataset import Dataset
from reference.losses import Logistic
from reference.problem import Problem, State
from reference.randomness import Seeded, in_order
from reference.regularizers import L1
from reference.schedules import PerEpoch, steps
from reference.ssadmm import ssadmm
from verification.coq.table import read

N, P = 40, 3


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str


class Shell:
    """`dpadmm train` in a folder of its own, in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        self.out = folder / "out"
        self.data = folder / "data.libsvm"
        rng = np.random.default_rng(0)
        self.features = rng.normal(size=(N, P)).round(4)
        self.labels = np.where(self.features[:, 0] > 0, 1, -1)
        self.data.write_text(
            "".join(
                f"{label} " + " ".join(f"{i + 1}:{v}" for i, v in enumerate(row)) + "\n"
                for label, row in zip(self.labels, self.features, strict=True)
            )
        )

    def train(self, options: str, data: Path | None = None) -> Ran:
        arguments = ["dpadmm", "train", str(data or self.data), "--out", str(self.out), *options.split()]
        self.monkeypatch.setattr(sys, "argv", arguments)
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = self.capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    def manifest(self) -> dict[str, object]:
        document = json.loads((self.out / "manifest.json").read_text())
        assert isinstance(document, dict)
        return document

    def coefficients(self) -> list[float]:
        document = json.loads((self.out / "model.json").read_text())
        return [float(value) for value in document["coefficients"]]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


GOOD = "--iterations 10 --sigma 0.5 --normalise"


def test_a_seeded_run_is_the_references_own(shell: Shell) -> None:
    options = "--iterations 25 --sigma 0.5 --normalise --seed 7 --batch 6 --eta 2 --rho 0.25 --lambda 0.01"
    ran = shell.train(f"{options} --output-kind last")
    assert ran.code == 0, ran.stderr
    data = Dataset.of(shell.features, shell.labels).with_intercept().normalised()
    problem = Problem.of(data, Logistic(), L1(0.01), rho=0.25)
    *_, last = ssadmm(
        problem,
        State.zero(P + 1),
        step_sizes=steps(PerEpoch(2.0, N, 6), 25),
        batches=Seeded(7).batches(N, 6, 25),
        noise=Seeded(7).noise(P + 1, 0.5, 25),
    )
    assert shell.coefficients() == last.x.tolist()
    archive = np.load(shell.out / "model.npz")
    assert archive["coefficients"].tolist() == last.x.tolist()
    assert archive["classes"].tolist() == ["-1", "1"]
    assert "anyone who knows it can remove the noise" in ran.stderr


@pytest.mark.parametrize("sampling", ["fixed-order", "shuffle"])
def test_epochs_are_trained_on_and_priced_as_one_release_each(shell: Shell, sampling: str) -> None:
    options = f"--iterations 9 --sigma 2 --normalise --seed 7 --batch 8 --eta 2 --rho 0.25 --sampling {sampling}"
    ran = shell.train(f"{options} --lambda 0.01 --output-kind last --delta 1e-6")
    assert ran.code == 0, ran.stderr
    problem = Problem.of(
        Dataset.of(shell.features, shell.labels).with_intercept().normalised(), Logistic(), L1(0.01), rho=0.25
    )
    batches = in_order(N, 8, 9) if sampling == "fixed-order" else Seeded(7).shuffled(N, 8, 9)
    noise = Seeded(7).noise(P + 1, 2.0, 9)
    etas = steps(PerEpoch(2.0, N, 8), 9)
    *_, last = ssadmm(problem, State.zero(P + 1), step_sizes=etas, batches=batches, noise=noise)
    assert shell.coefficients() == last.x.tolist()
    run = SsADMM(records=N, batch=8, iterations=9, noise_multiplier=8, sampling="fixed-order")  # two epochs of five
    privacy = shell.manifest()["privacy"]
    assert isinstance(privacy, dict)
    priced = fraction_of(epsilon(run, "1e-6").epsilon.upper)
    assert float(privacy["epsilon"]) == pytest.approx(float(priced), rel=1e-4)


def test_runs_without_a_seed_differ(shell: Shell) -> None:
    models = []
    for _ in range(2):
        assert shell.train(GOOD).code == 0
        models.append(shell.coefficients())
        shell.out = shell.out.with_name(shell.out.name + "x")
    assert models[0] != models[1]


def test_the_manifest_holds_every_parameter_and_no_trace_of_the_records(shell: Shell) -> None:
    assert shell.train(GOOD).code == 0
    manifest = shell.manifest()
    assert manifest["format"] == "dpadmm-manifest/1"
    assert manifest["records"] == N
    assert manifest["dimension"] == P + 1
    assert manifest["privacy"] is None
    parameters = manifest["parameters"]
    assert isinstance(parameters, dict)
    assert parameters["sigma"] == "0.5"
    assert parameters["batch"] == 7  # the root of 40, rounded up
    assert parameters["seed"] is None
    assert float(parameters["eta"]) > 0
    assert float(parameters["rho"]) == pytest.approx(4 / float(parameters["eta"]))
    assert manifest["features"] == ["1", "2", "3"]
    assert sorted(path.name for path in shell.out.iterdir()) == ["manifest.json", "model.json", "model.npz"]
    assert str(shell.folder) not in (shell.out / "manifest.json").read_text()


@pytest.mark.parametrize(
    "options",
    [
        "--algorithm mpadmm --clip 1",
        "--algorithm mpadmm --clip 1 --release all",
        "--algorithm ssadmm --normalise --loss huber --schedule inverse-sqrt",
        "--normalise --regularizer elastic-net --l1-ratio 0.2 --output-kind average",
        "--normalise --regularizer group-l1 --groups 0,1;2,3 --output-kind sparse",
        "--normalise --regularizer nuclear --matrix 2x2",
        "--normalise --regularizer scad --rho 1 --bounds=-3:3",
        "--clip 0.5 --regularizer mcp --rho 1 --no-intercept",
        "--clip 0.5 --regularizer none --noise discrete --grid 0.0009765625",
    ],
)
def test_every_choice_trains(shell: Shell, options: str) -> None:
    ran = shell.train(f"--iterations 5 --sigma 0.1 {options}")
    assert ran.code == 0, ran.stderr
    assert np.isfinite(shell.coefficients()).all()
    assert "guarantee  none" in ran.stdout


@pytest.mark.parametrize(
    ("options", "theorem"),
    [
        ("", "ssADMM_is_private"),
        ("--algorithm mpadmm --release all", "mpADMM_is_private"),
        ("--algorithm mpadmm", "mpADMM_primal_is_private"),
        ("--algorithm mpadmm --release all --regularizer scad --rho 1", "mpADMM_is_private_where_prox_stretches"),
    ],
)
def test_discrete_noise_names_the_theorem_that_its_guarantee_is(shell: Shell, options: str, theorem: str) -> None:
    target = "--iterations 5 --epsilon 2 --delta 1e-6 --clip 0.5 --noise discrete --grid 0.0009765625"
    ran = shell.train(f"{target} {options}")
    assert ran.code == 0, ran.stderr
    assert f"theorem    {theorem} (EndToEnd.v, checked by Coq: make proofs)" in ran.stdout
    assert theorem in {entry.name for entry in read().theorem if entry.file == "EndToEnd"}


def test_noise_is_calibrated_to_a_target(shell: Shell) -> None:
    ran = shell.train("--iterations 10 --epsilon 1 --delta 1e-6 --normalise --format json")
    assert ran.code == 0, ran.stderr
    document = json.loads(ran.stdout)
    privacy = document["privacy"]
    assert privacy["holds"] is True
    assert 0.9 < float(privacy["epsilon"]) <= 1
    assert privacy["neighbours"] == "replace-one"
    sigma = document["parameters"]["sigma"]
    shell.out = shell.out.with_name("again")
    again = shell.train(f"--iterations 10 --sigma {sigma} --delta 1e-6 --normalise --format json")
    # The same noise, priced: not above the target, and not far from what the calibration certified.
    assert float(json.loads(again.stdout)["privacy"]["epsilon"]) == pytest.approx(float(privacy["epsilon"]), rel=1e-3)
    shell.out = shell.out.with_name("less")
    less = shell.train(f"--iterations 10 --sigma {float(sigma) * 0.99} --delta 1e-6 --normalise --format json")
    assert float(json.loads(less.stdout)["privacy"]["epsilon"]) > 1


@pytest.mark.standard_effort
def test_the_exact_adversary_prices_the_run_unless_effort_is_quick(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pricing, "STANDARD_SECONDS", 600.0)  # whatever the load of the machine
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    found = {}
    for effort in ("standard", "quick"):
        shell.out = shell.folder / effort
        ran = shell.train(f"--iterations 60 --batch 4 --sigma 1 --delta 1e-6 --normalise --effort {effort}")
        assert "the price of the noise" in ran.stderr
        found[effort] = json.loads((shell.out / "manifest.json").read_text())["privacy"]
    assert [found[effort]["method"] for effort in found] == ["adversary", "profile"]
    assert float(found["standard"]["epsilon"]) < 0.99 * float(found["quick"]["epsilon"])


def test_a_seed_voids_the_guarantee_and_says_so(shell: Shell) -> None:
    ran = shell.train("--algorithm mpadmm --iterations 10 --epsilon 1 --delta 1e-6 --normalise --seed 1")
    assert ran.code == 0
    assert "void: the seed reproduces the noise" in ran.stdout
    privacy = shell.manifest()["privacy"]
    assert isinstance(privacy, dict)
    assert privacy["holds"] is False


def test_no_noise_is_said_to_be_no_privacy(shell: Shell) -> None:
    ran = shell.train("--iterations 10 --sigma 0 --delta 1e-6")
    assert ran.code == 0
    assert "guarantee  none" in ran.stdout
    assert "sigma is 0: the model is not private" in ran.stderr


def test_a_trace_comes_with_a_warning(shell: Shell) -> None:
    ran = shell.train(GOOD + " --trace")
    assert "NOT private" in ran.stderr
    lines = (shell.out / "trace.csv").read_text().splitlines()
    assert "NOT private" in lines[0]
    assert len(lines) == 2 + 10
    assert shell.manifest()["warnings"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sigma -1 --normalise", "sigma must be finite and >= 0, got sigma=-1.0"),
        ("--sigma nan --normalise", "sigma must be finite and >= 0, got sigma=nan"),
        ("--sigma x --normalise", "'x' is not a valid float"),
        ("--sigma 1 --normalise --eta 0", "eta must be finite and > 0, got eta=0.0"),
        ("--sigma 1 --normalise --eta -1", "eta must be finite and > 0, got eta=-1.0"),
        ("--sigma 1 --normalise --rho 0", "rho must be finite and > 0, got rho=0.0"),
        ("--sigma 1 --normalise --rho -2", "rho must be finite and > 0, got rho=-2.0"),
        ("--sigma 1 --normalise --batch 41", "batch must be at most 40, got batch=41"),
        ("--sigma 1 --normalise --batch 0", "batch must be an integer >= 1, got batch=0"),
        ("--sigma 1 --normalise --lambda -1", "lambda must be finite and >= 0, got lambda=-1.0"),
        ("--sigma 1 --normalise --iterations 0", "iterations must be an integer >= 1, got iterations=0"),
        ("--sigma 1 --clip 0", "clip must be finite and > 0, got clip=0.0"),
        ("--sigma 1 --clip 1 --normalise", "give --clip or --normalise, not both"),
        ("--sigma 1 --no-normalise", "noise protects only bounded gradients"),
        ("--normalise", "give either --sigma, or --epsilon with --delta"),
        ("--normalise --sigma 1 --epsilon 1 --delta 1e-5", "give either --sigma, or --epsilon with --delta"),
        ("--normalise --epsilon 1", "--epsilon needs --delta"),
        ("--normalise --epsilon 0 --delta 1e-5", "epsilon must be finite and > 0, got epsilon=0"),
        ("--normalise --epsilon 1 --delta 2", "delta must lie strictly between 0 and 1, got delta=2"),
        ("--normalise --sigma 1 --noise discrete", "--noise discrete and --grid go together"),
        ("--normalise --sigma 1 --grid 0.5", "--noise discrete and --grid go together"),
        ("--normalise --sigma 1 --noise discrete --grid 0.3", "grid must be a power of two, got grid=0.3"),
        ("--normalise --sigma 1 --noise discrete --grid 0.5 --seed 1", "give no seed, got seed=1"),
        ("--normalise --sigma 1 --seed -1", "seed must be an integer >= 0, got seed=-1"),
        ("--normalise --sigma 1 --regularizer scad --rho 0.25", "scad needs a > 1 + 1/rho = 5.0, got a=3.7"),
        ("--normalise --sigma 1 --regularizer group-l1", "--regularizer group-l1 needs --groups"),
        ("--normalise --sigma 1 --regularizer group-l1 --groups 0,9", "groups must index a model of 4 entries"),
        ("--normalise --sigma 1 --regularizer group-l1 --groups a", "'a' is not a list of groups"),
        ("--normalise --sigma 1 --regularizer nuclear --matrix 2x3", "a model of 4 entries is no 2 x 3 matrix"),
        ("--normalise --sigma 1 --matrix 2by3", "'2by3' is not a shape such as 4x31"),
        ("--normalise --sigma 1 --algorithm mpadmm --batch 3", "no --batch, got --batch 3"),
        ("--normalise --sigma 1 --algorithm mpadmm --sampling shuffle", "no --sampling, got --sampling shuffle"),
        ("--normalise --sigma 1 --bounds 1:0", "'1:0' is not LOW:HIGH or NAME=LOW:HIGH"),
        ("--normalise --sigma 1 --bounds 0:1 --bounds 0:2", "states bounds of every column a second time"),
        ("--normalise --sigma 1 --bounds age=0:1", "--bounds age: this column is not there"),
        ("--normalise --sigma 1 --features 2", "line 1: index must be at most 2"),
        ("--normalise --sigma 1 --features 0", "--features must be >= 1, got 0"),
        ("--normalise --sigma 1e308 --eta 1e300", "not finite"),
    ],
)
def test_bad_choices_are_refused_by_name_and_nothing_is_written(shell: Shell, options: str, message: str) -> None:
    extra = "" if "--iterations" in options else "--iterations 10 "
    ran = shell.train(extra + options)
    assert ran.code == 2, ran.stderr
    assert message in ran.stderr
    assert ran.stdout == ""
    assert sorted(path.name for path in shell.folder.iterdir()) == ["data.libsvm"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:nan\n-1 1:1\n", "line 1: expected a finite number, got nan"),
        ("1 1:1\n-1 1:inf\n", "line 2: expected a finite number, got inf"),
        ("1 1:1\n1 1:2\n", "labels must be of exactly two classes, got 1"),
        ("1 1:1\n2 1:2\n3 1:2\n", "labels must be of exactly two classes, got 3"),
        ("1 1:1\n-1 broken\n", "line 2: expected index:value after the label"),
        ("", "holds no records"),
    ],
)
def test_bad_data_are_refused_by_line_and_nothing_is_written(shell: Shell, content: str, message: str) -> None:
    bad = shell.folder / "bad"
    bad.write_text(content)
    ran = shell.train(GOOD, bad)
    assert ran.code == 2
    assert message in ran.stderr
    assert not shell.out.exists()


def test_unreadable_files_and_taken_places_are_refused(shell: Shell) -> None:
    ran = shell.train(GOOD, shell.folder / "missing")
    assert ran.code == 2
    assert "missing" in ran.stderr
    shell.out.mkdir()
    (shell.out / "precious").write_text("keep me")
    ran = shell.train(GOOD)
    assert ran.code == 2
    assert "exists and is not an empty directory" in ran.stderr
    assert (shell.out / "precious").read_text() == "keep me"
    shell.out = shell.folder / "no" / "where"
    ran = shell.train(GOOD)
    assert ran.code == 2
    assert "is not a directory" in ran.stderr


def test_an_empty_directory_may_be_filled(shell: Shell) -> None:
    shell.out.mkdir()
    assert shell.train(GOOD).code == 0
    assert (shell.out / "manifest.json").is_file()


INTERRUPTED = """
import sys, time
import dpadmm.cli.train_run as train_run
def announce(function):
    def announced(*arguments):
        print("ready", flush=True)
        time.sleep({pause})
        return function(*arguments)
    return announced
train_run.{name} = announce(train_run.{name})
from dpadmm.cli import main
main()
"""


@pytest.mark.parametrize(
    ("name", "pause"),
    [pytest.param("run", 0, marks=pytest.mark.slow, id="training"), pytest.param("write_json", 60, id="writing")],
)
def test_ctrl_c_leaves_nothing_behind(shell: Shell, name: str, pause: int) -> None:
    iterations = 10_000_000 if name == "run" else 10
    script = INTERRUPTED.format(name=name, pause=pause)
    options = f"--iterations {iterations} --sigma 0.5 --normalise".split()
    process = subprocess.Popen(
        [sys.executable, "-c", script, "train", str(shell.data), "--out", str(shell.out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job inherits an ignored SIGINT, and then nobody could interrupt it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread, one call
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if name == "write_json":
            # The draft is there while it is written, under another name.
            assert any(path.name.startswith(".out.") for path in shell.folder.iterdir())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert sorted(path.name for path in shell.folder.iterdir()) == ["data.libsvm"]


def test_progress_appears_on_a_terminal_only(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "training" not in shell.train(GOOD).stderr
    shell.out = shell.folder / "second"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    ran = shell.train(GOOD)
    assert "training" in ran.stderr
    assert "training" not in ran.stdout
