"""A declared algorithm asked without a process: the same lines, answered by the same server."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import re
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np

from verification.declared.implementation import DeclaredImplementation
from verification.declared.questions import ask_declared
from verification.judge import finding
from verification.outcome import About, Finding
from verification.served.declared import Declare, DeclaredServer, RunOnce
from verification.wire import Face
from verification.wire import messages as m
from verification.wire.arrays import WireModel
from verification.wire.declaration import OpaqueParameters
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.session import DeclaredAlgorithm, Session

EXAMPLES = Path(__file__).parents[3] / "examples" / "declared"


class InProcess(Session):
    """A session whose other end is a server in this process."""

    def __init__(self, name: str, declare: Declare, run: RunOnce, *, seeded: bool = True) -> None:
        self._server = DeclaredServer(name, declare, run, seeded=seeded)
        self._prepare(Face.DECLARED)
        self.describe()

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        return self._server.answer(m.line_of(request))

    def fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        return AdapterFault(fault, step, detail)


def example(name: str) -> ModuleType:
    """One of the adapters in examples/declared, as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named_epsilon(detail: str) -> float:
    """The epsilon that a refutation names, infinite where it says so."""
    named = re.search(r"epsilon (?:at delta [\d.e-]+ )?is (?:then )?(?:at least )?(\d[\d.]*|infinite)", detail)
    assert named is not None, detail
    return math.inf if named.group(1) == "infinite" else float(named.group(1).rstrip("."))


def declared_implementation(
    session: Session,
    parameters: OpaqueParameters,
    *,
    size: tuple[int, int],
    seed: int,
    effort: float = 1.0,
    claim: tuple[Fraction | float, Fraction] = (math.inf, Fraction(0)),
) -> DeclaredImplementation:
    """The one algorithm of a session, with ten minutes."""
    algorithm = DeclaredAlgorithm(session.description.declared[0], parameters)
    declaration, rng = session.declare(algorithm, *size), np.random.default_rng(seed)
    deadline = time.monotonic() + 600.0
    return DeclaredImplementation(session, algorithm, declaration, *size, claim, rng, deadline, effort)


def findings(
    session: Session,
    parameters: OpaqueParameters,
    *,
    epsilon: str,
    delta: str,
    seed: int,
    size: tuple[int, int] = (24, 3),
    false_alarm: float = 1e-9,
    effort: float = 0.12,
) -> Iterator[Finding]:
    """All findings about the one algorithm of a session, each by the name of its question alone."""
    tested = declared_implementation(
        session, parameters, size=size, seed=seed, effort=effort, claim=(Fraction(epsilon), Fraction(delta))
    )
    for result in ask_declared(tested, false_alarm=false_alarm, power=2.0):
        yield dataclasses.replace(finding(result), about=About(result.about.question))
