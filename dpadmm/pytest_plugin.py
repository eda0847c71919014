r"""The gate in pytest: ``pytest --privacy-claim privacy-claim.toml`` collects one item for each question.

Each item asks its question alone, so that ``-k``, ``-x``, ``--lf``, ``--durations`` and ``--junit-xml`` work as for any
test; its name is the id that the gate uses. A refutation fails. A further item that shows the same cause of the same
mechanism is an expected failure that names the first. What the implementation does not offer is skipped, and the item
``coverage`` fails where a claim rests on something that no item could look at.

``@pytest.mark.observed(...)`` judges Python code without any adapter: see :func:`observed`.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from audits.gate.claim_file import ClaimFile
    from audits.gate.report import GateReport
    from verification.outcome import Cause, Finding

GAMES, COVERAGE = "games", "coverage"
_CONSEQUENCES = ("distinguishable", GAMES)
_OBSERVED = "observed(declare, epsilon, delta, records, columns, parameters, watch, returns): judge a training function"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options."""
    group = parser.getgroup("privacy", "privacy claims (dpadmm)")
    text = "Collect one item for each question of the gate about this claim file."
    group.addoption("--privacy-claim", action="append", default=[], metavar="FILE", help=text)
    text = "Seed of the gate's draws, given to the implementation as well; fresh by default."
    group.addoption("--privacy-seed", type=int, metavar="SEED", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Claim files are collected beside whatever else is."""
    config.addinivalue_line("markers", _OBSERVED)
    for path in _claim_files(config):
        if not path.is_file():
            raise pytest.UsageError(f"--privacy-claim: there is no file {path}")
        if str(path) not in config.args:
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the claim files that were named."""
    return ClaimItems.from_parent(parent, path=file_path) if file_path in _claim_files(parent.config) else None


def _claim_files(config: pytest.Config) -> list[Path]:
    folder = config.invocation_params.dir
    return [(folder / name).resolve() for name in config.getoption("privacy_claim")]


class ClaimItems(pytest.File):
    """One claim file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each question, then the games, then what no question looked at."""
        from audits.errors import ClaimFileError
        from audits.gate.claim_file import read_claim_file

        try:
            claims = read_claim_file(self.path)
        except ClaimFileError as error:
            raise self.CollectError(str(error)) from None
        seed = self.config.getoption("privacy_seed")
        shared = Shared(claims, self.path, secrets.randbits(32) if seed is None else seed, seeded=seed is not None)
        for name in shared.questions():
            yield ClaimItem.from_parent(self, name=name, shared=shared)


class ClaimItem(pytest.Item):
    """One question about one mechanism at one size."""

    def __init__(self, *, shared: Shared, name: str, parent: pytest.Collector) -> None:
        super().__init__(name, parent)
        self._shared = shared

    def runtest(self) -> None:
        """Ask it; raise what pytest calls a failure, an expected failure or a skip."""
        self._shared.run(self.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # noqa: ARG002
        """What was found, without a traceback through the gate; that of a fault is kept."""
        return str(excinfo.value) if isinstance(excinfo.value, ClaimFailed) else str(excinfo.getrepr(style="short"))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands in pytest's listing."""
        return self.path, None, self.name


class ClaimFailed(Exception):
    """A claim is refuted, or not everything that it needs was shown."""


class Shared:
    """What the items of one claim file share: the seed, causes that were reported, and what was looked at."""

    def __init__(self, claims: ClaimFile, path: Path, seed: int, *, seeded: bool) -> None:
        self._path, self._seed, self._seeded = path, seed, seeded
        self._claims = _split(claims)
        self._causes: dict[tuple[str, Cause], str] = {}
        self._reports: dict[str, GateReport] = {}

    def questions(self) -> list[str]:
        """The ids of everything that a gate would ask, in its order."""
        from audits.gate.report import ids_of

        found = ids_of(self._claims, alone=True)
        # what tells neighbours apart comes after all that may be its cause
        return [*sorted(found, key=lambda name: name.split("/")[0] in _CONSEQUENCES), COVERAGE]

    def run(self, name: str) -> None:
        """Ask one question and conclude."""
        if name == COVERAGE:
            self._covered()
            return
        from audits.games.executors import executor
        from audits.gate.run import GateOptions, run_gate

        options = GateOptions(
            self._seed,
            (name,),
            seeded=self._seeded,
            source=self._path,
            reproduce=lambda finding, _: self._again(finding),
        )
        with executor(None if name == GAMES else 1, None) as pool:
            report = run_gate(self._claims, pool, options)
        self._reports[name] = report
        self._conclude(name, report)

    def _again(self, finding: str) -> str:
        seed = f" --privacy-seed {self._seed}" if self._seeded else ""
        return f"pytest --privacy-claim {self._path}{seed} -k '{finding}'"

    def _conclude(self, name: str, report: GateReport) -> None:
        from verification.outcome import Outcome

        found = [f for f in report.findings if f.waiver is None]
        for finding in (f for f in found if f.outcome is Outcome.REFUTED):
            text = f"{finding.cause or finding.outcome}: {finding.detail}\nagain: {finding.reproduction}"
            first = self._reported(finding, name)
            if first != name:
                pytest.xfail(f"the same cause as {first}: {text}")
            raise ClaimFailed(f"{finding.name}: {text}")
        for outcome in (Outcome.FAULT, Outcome.ADAPTER_FAILED, Outcome.INCONCLUSIVE):
            for finding in (f for f in found if f.outcome is outcome):
                raise ClaimFailed(f"{finding.name}: {outcome}: {finding.detail}")
        if not found or all(f.outcome is Outcome.SKIPPED for f in found):
            skipped = "; ".join(dict.fromkeys(item.reason for item in report.coverage.skipped))
            pytest.skip(skipped or next((f.detail for f in found), "does not apply"))

    def _reported(self, finding: Finding, name: str) -> str:
        """The first item that failed by this cause of this mechanism, or by one that explains it."""
        cause = finding.cause
        for (subject, other), first in self._causes.items():
            if subject == finding.subject and cause is not None and (other is cause or other.explains(cause)):
                return first
        if cause is not None:
            self._causes[finding.subject, cause] = name
        return name

    def _covered(self) -> None:
        """Whether everything that the claim rests on was looked at by some item."""
        if self._claims.implementation is None:
            raise ClaimFailed("the claim file names no [implementation]: only the price was checked")
        unasked = [name for name in self.questions() if name not in self._reports and name != COVERAGE]
        if unasked:
            pytest.skip(f"{len(unasked)} items were not run: {', '.join(unasked[:3])}, ...")
        from audits.gate.run import coverage_findings
        from verification.judge import Coverage
        from verification.outcome import needed_aspects

        known = [report.coverage for report in self._reports.values()]
        coverage = Coverage(
            tuple(c for each in known for c in each.covered), tuple(s for e in known for s in e.skipped)
        )
        if self._causes or self._claims.claim.nothing:
            return  # refuted, or nothing is claimed: nothing further rests on it
        missing = [f"{f.name}: {f.detail}" for f in coverage_findings(self._claims, coverage)]
        if self._claims.declared is not None:
            needed = needed_aspects(private=True, sampled=False)
            unseen = coverage.missing(self._claims.declared.algorithm, needed)
            missing += [f"no item could look at: {a}" for a in unseen if a not in self._claims.gate.accepts]
        if missing:
            raise ClaimFailed("\n".join(missing))


def _split(claims: ClaimFile) -> ClaimFile:
    """The false alarms of one mechanism: the gate splits them over those that it asks together, and an item is one."""
    gate = claims.gate.model_copy(update={"false_alarm": claims.gate.false_alarm / max(1, len(claims.mechanism))})
    return claims.model_copy(update={"gate": gate})


# -- Python code without an adapter -----------------------------------------------------------------------------------


class Judge(Protocol):
    """What the fixture `observed` is: call it with the training function."""

    def __call__(self, train: Callable[..., object]) -> None:
        """Judge the function; the question is that of the item."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item for each question about a declared algorithm."""
    if metafunc.definition.get_closest_marker("observed") is not None and "observed" in metafunc.fixturenames:
        from verification.declared.questions import QUESTIONS

        metafunc.parametrize("observed", [question.name for question in QUESTIONS], indirect=True)


@pytest.fixture
def observed(request: pytest.FixtureRequest, tmp_path: Path) -> Judge:
    """Judge ``train(features, labels, parameters)``, a function of a module, by what the marker declares.

    ``@pytest.mark.observed(declare=..., epsilon="1", delta="1e-6", records=50, columns=2, watch={"normal": "a"})`` on
    ``def test_it(observed): observed(train)``. ``declare``, ``watch`` and ``returns`` are those of
    `dpadmm.declaring.serve_observed`. The function runs in a process of its own, where its module is imported anew.
    """
    marker = request.node.get_closest_marker("observed")
    if marker is None:
        raise pytest.UsageError("the fixture `observed` needs @pytest.mark.observed(declare=..., epsilon=..., ...)")
    options = dict(marker.kwargs)
    declare = options.pop("declare")

    def judge(train: Callable[..., object]) -> None:
        claim_file = _adapter(tmp_path, train, declare, options)
        from audits.gate.claim_file import read_claim_file

        seed = request.config.getoption("privacy_seed")
        chosen = secrets.randbits(32) if seed is None else seed
        shared = Shared(read_claim_file(claim_file), claim_file, chosen, seeded=False)
        try:
            shared.run(f"{request.param}/observed/declared")
        except ClaimFailed as failed:
            pytest.fail(str(failed), pytrace=False)

    return judge


_SERVER = """\
import importlib, importlib.util, sys
sys.path[:0] = {path!r}
def loaded(name, file, function):
    if name in ("__main__",) or importlib.util.find_spec(name) is None:
        spec = importlib.util.spec_from_file_location(name, file)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(importlib.import_module(name), function)
from dpadmm.declaring import serve_observed
serve_observed("observed", loaded(*{declare!r}), loaded(*{train!r}), watch={watch!r}, returns={returns!r})
"""


def _adapter(
    folder: Path, train: Callable[..., object], declare: Callable[..., object], options: dict[str, object]
) -> Path:
    """Write an adapter that imports both functions, and a claim file that names it."""
    places = [_place(train), _place(declare)]
    parameters = json.dumps(options.pop("parameters", {}))
    server = _SERVER.format(
        path=[entry for entry in sys.path if entry],
        train=places[0],
        declare=places[1],
        watch=options.pop("watch", None),
        returns=options.pop("returns", None),
    )
    (folder / "adapter.py").write_text(server, "utf-8")
    claim = {name: str(options.pop(name)) for name in ("epsilon", "delta")}
    claim["neighbours"] = str(options.pop("neighbours", "replace-one"))
    lines = ["[claim]", *(f"{key} = {json.dumps(value)}" for key, value in claim.items())]
    lines += ["[declared]", 'algorithm = "observed"', f"records = {options.pop('records')}"]
    lines += [f"columns = {options.pop('columns')}", "[declared.parameters]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in json.loads(parameters).items()]
    lines += ["[implementation]", f"command = {json.dumps([sys.executable, 'adapter.py'])}", "[gate]"]
    lines += [f"{key} = {json.dumps(str(value))}" for key, value in options.items()]
    path = folder / "privacy-claim.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _place(function: Callable[..., object]) -> tuple[str, str, str]:
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    file = getattr(sys.modules.get(module), "__file__", None)
    if not name.isidentifier() or file is None:
        raise pytest.UsageError(f"observed code must be a function of a module, got {function!r}")
    return module, str(file), name
