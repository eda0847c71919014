"""Tests the adapter itself, before anything is concluded from its answers.

Each step asks one kind of question and checks only that the answer is one: nothing here judges the mathematics.
The first thing that is wrong is raised as an `AdapterFault` with its protocol step and a hint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from verification.wire.arrays import Floats
from verification.wire.faults import AdapterRefusal, AdapterSkipped, Fault, ProtocolStep
from verification.wire.messages import Capability, Show, parameters_for
from verification.wire.parameters import SCHEMES, Algorithm, Parameters, noised_names
from verification.wire.process import Limits
from verification.wire.records import Records, Run
from verification.wire.session import Session

_RECORDS, _COLUMNS, _ITERATIONS, _BATCH = 5, 4, 3, 2


@dataclass(frozen=True, slots=True)
class Passed:
    """One step that passed, with a description."""

    step: ProtocolStep
    detail: str


def smoke(command: Sequence[str], limits: Limits | None = None) -> Iterator[Passed]:
    """Start the adapter, put it through every step it declares, stop it; raise at the first fault."""
    with Session(command, limits) as session:
        who = session.description
        algorithms, capabilities = ", ".join(who.algorithms), ", ".join(who.capabilities)
        yield Passed(ProtocolStep.START, f"{who.name} {who.version} ({who.language}); {algorithms}; {capabilities}")
        yield from smoke_session(session)
    yield Passed(ProtocolStep.STOP, "answered, exited with status 0, left no process")


def smoke_session(session: Session) -> Iterator[Passed]:
    """Put a started session through data, replay and trials."""
    rng = np.random.default_rng(2020)
    first, second = _records(rng), _records(rng)
    names = (session.send(first), session.send(second, packed=False))
    yield Passed(ProtocolStep.DATA, "records understood as base64 and as lists")
    _unknown_data(session)
    yield Passed(ProtocolStep.DATA, "a data set that was never sent is refused, and the adapter lives on")
    for algorithm in session.description.algorithms:
        if session.can(Capability.REPLAY):
            _replay(session, algorithm, names, rng)
            yield Passed(ProtocolStep.REPLAY, f"{algorithm}: shapes, repeatable, depends on data and noise")
        if session.can(Capability.TRIALS):
            _trials(session, algorithm, names[0])
            seeds = ", same seed same output" if session.can(Capability.SEED) else ""
            yield Passed(ProtocolStep.TRIALS, f"{algorithm}: shapes{seeds}")


def _records(rng: np.random.Generator) -> Records:
    features = rng.standard_normal((_RECORDS, _COLUMNS))
    return Records(features, np.where(rng.random(_RECORDS) < 0.5, -1, 1).astype(np.int64))


def _parameters(session: Session, algorithm: Algorithm) -> Parameters:
    eta = [1.0 / (k + 1) for k in range(_ITERATIONS)]
    return parameters_for(session.description, algorithm, _COLUMNS, eta=eta, batch=_BATCH, sigma=0.5)


def _replay(session: Session, algorithm: Algorithm, names: tuple[str, str], rng: np.random.Generator) -> None:
    parameters = _parameters(session, algorithm)
    batches = None
    if parameters.batch is not None:
        batches = [rng.permutation(_RECORDS)[:_BATCH].tolist() for _ in range(_ITERATIONS)]

    def noise() -> dict[str, Floats]:
        scheme, names = SCHEMES[algorithm], noised_names(algorithm, parameters)
        return {name: rng.standard_normal(scheme.noise_shape(name, parameters, _COLUMNS)) for name in names}

    given = noise()
    run = session.replay(names[0], algorithm, parameters, given, batches)
    as_lists = session.replay(names[0], algorithm, parameters, given, batches, packed=False)
    if not _same(run, as_lists):
        raise session.fault(Fault.CONTRADICTION, ProtocolStep.REPLAY, f"{algorithm}: the same request, two answers")
    if _same(run, session.replay(names[1], algorithm, parameters, given, batches)):
        raise session.fault(Fault.IGNORES_INPUT, ProtocolStep.REPLAY, f"{algorithm}: other data, same answer")
    if given and _same(run, session.replay(names[0], algorithm, parameters, noise(), batches)):
        raise session.fault(Fault.IGNORES_INPUT, ProtocolStep.REPLAY, f"{algorithm}: other noise, same answer")


def _trials(session: Session, algorithm: Algorithm, name: str) -> None:
    parameters = _parameters(session, algorithm)
    shows = list(Show) if session.can(Capability.EVERY_ITERATE) else [Show.LAST]
    for show in shows:
        session.trials(name, algorithm, parameters, 3, show=show)
        session.trials(name, algorithm, parameters, 1, show=show)
    if session.can(Capability.SEED):
        runs = [session.trials(name, algorithm, parameters, 3, show=shows[0], seed=7) for _ in range(2)]
        if not _same(*runs):
            raise session.fault(Fault.IGNORES_SEED, ProtocolStep.TRIALS, f"{algorithm}: seed 7 twice, two answers")


def _unknown_data(session: Session) -> None:
    """Ask about records that were never sent: `error` is the right answer."""
    algorithm = session.description.algorithms[0]
    parameters = _parameters(session, algorithm)
    nothing = session.unsent(_COLUMNS)
    step = ProtocolStep.TRIALS if session.can(Capability.TRIALS) else ProtocolStep.REPLAY
    try:
        if step is ProtocolStep.TRIALS:
            show = Show.EVERY_ITERATE if session.can(Capability.EVERY_ITERATE) else Show.LAST
            session.trials(nothing, algorithm, parameters, 1, show=show, may_refuse=True)
        else:
            scheme = SCHEMES[algorithm]
            shapes = {n: scheme.noise_shape(n, parameters, _COLUMNS) for n in noised_names(algorithm, parameters)}
            noise = {name: np.zeros(shape) for name, shape in shapes.items()}
            batches = [[0, 1]] * _ITERATIONS if parameters.batch is not None else None
            session.replay(nothing, algorithm, parameters, noise, batches, may_refuse=True)
    except (AdapterRefusal, AdapterSkipped):
        return
    raise session.fault(Fault.IGNORES_INPUT, step, "it answered a question about records that were never sent")


def _same(first: Run, second: Run) -> bool:
    return all(np.array_equal(array, second.values[name]) for name, array in first.values.items())
