"""Where the trials run: here, in a pool of processes, or on a Dask cluster; the numbers are the same on each.

A chunk of trials is a function of the audit's seed and the chunk's number alone (counter-based seeds), so the
result does not depend on the executor or the order. Each worker keeps one adapter process and reuses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

import numpy as np

from accountant.mechanisms.words import Visibility
from audits.errors import AuditError, CheckpointError
from audits.games.game import Attack, Game, with_iterations
from verification.files import append_line
from verification.reading.context import NotApplicable
from verification.reading.values import standard_noise
from verification.wire.arrays import Floats, PackedArray, WireModel, pack, unpack
from verification.wire.process import Limits
from verification.wire.records import Run
from verification.wire.session import HiddenPair, Session

_HUGE = 1e300
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """The implementation under audit: its command and what it may use.

    Where not ``seeded`` it draws as in production; then a chunk cannot be repeated.
    """

    command: tuple[str, ...]
    limits: Limits
    seeded: bool = True


@dataclass(frozen=True, slots=True)
class Chunk:
    """The ``number``-th chunk of ``pairs`` trial pairs of stream ``stream`` of an audit with this seed."""

    seed: int
    stream: int
    number: int
    pairs: int

    def generator(self) -> np.random.Generator:
        """Return the chunk's own randomness."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.stream, self.number)))


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The scores of one chunk, pair by pair."""

    number: int
    first: Floats
    second: Floats
    noise: tuple[Floats, int] | None = None  # sums of squares over the claimed scale, and of how many values


# one conversation a thread: a Dask worker may run several chunks at once
_SESSIONS: dict[tuple[int, Target], Session] = {}


def session_of(target: Target) -> Session:
    """Return this worker's conversation with the implementation, started when it is first needed."""
    key = (threading.get_ident(), target)
    if key not in _SESSIONS:
        if not _SESSIONS:
            # multiprocessing's children end without atexit; this finalizer runs in both
            Finalize(None, close_sessions, exitpriority=10)
        _SESSIONS[key] = Session(target.command, target.limits)
    return _SESSIONS[key]


def forget(target: Target) -> None:
    """Close this worker's session at once, after a fault."""
    session = _SESSIONS.pop((threading.get_ident(), target), None)
    if session is not None:
        session.__exit__(RuntimeError, None, None)


def close_sessions() -> None:
    """Stop every adapter that this process started, with a `stop` request where possible."""
    for key in list(_SESSIONS):
        session = _SESSIONS.pop(key)
        with contextlib.suppress(Exception):
            # the audit is over and every answer that counts has been checked; nothing is concluded from this one
            session.__exit__(None, None, None)


def run_pair(target: Target, game: Game, chunk: Chunk) -> tuple[Run, Run]:
    """Run one chunk on both neighbours; nothing tells the implementation which is which."""
    session = session_of(target)
    try:
        pair = HiddenPair(session, game.first, game.second, chunk.generator())
        return pair.trials(game.algorithm, game.parameters, chunk.pairs, seeded=target.seeded, show=game.show)
    except BaseException:
        forget(target)
        raise


def score_chunk(target: Target, game: Game, attack: Attack, chunk: Chunk) -> Scored:
    """Run and score one chunk; a pure function of its arguments if the implementation honours seeds."""
    first, second = run_pair(target, game, chunk)
    # huge but finite answers are answers: their scores may overflow, and still speak for a side, or for none
    with np.errstate(over="ignore", invalid="ignore"):
        scores = [attack.scores(game, run) for run in (first, second)]
        noise = _noise(game, second)
    near, far = (np.nan_to_num(side, nan=0.0, posinf=_HUGE, neginf=-_HUGE) for side in scores)
    return Scored(chunk.number, near, far, noise)


def _noise(game: Game, run: Run) -> tuple[Floats, int] | None:
    """The noise of each run on records that are all alike, where it can be read; else nothing."""
    signed = game.second.features * game.second.labels[:, None]
    if game.visibility is Visibility.LAST_MODEL or np.ptp(signed, axis=0).any():
        return None
    try:
        noise = standard_noise(game.claimed, game.second, with_iterations(game, run))
    except NotApplicable:
        return None
    noise = {name: array for name, array in noise.items() if game.reads and name not in game.processed}
    if not noise:
        return None
    energies = np.sum([np.sum(array**2, axis=(1, 2)) for array in noise.values()], axis=0)
    return energies, sum(array.shape[1] * array.shape[2] for array in noise.values())


class Here(Executor):
    """An executor that runs everything in this process, when it is submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run now; the future is already done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


@contextlib.contextmanager
def executor(workers: int | None = None, cluster: str | None = None) -> Iterator[Executor]:
    """Yield the executor asked for: a Dask cluster by address, a pool of ``workers``, or this process for one."""
    if cluster is not None:
        with _dask(cluster) as remote:
            yield remote
        return
    count = workers if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise AuditError(f"workers must be at least 1, got workers={workers!r}")
    if count == 1:
        try:
            yield Here()
        finally:
            close_sessions()
        return
    # fork would copy the parent's open adapter pipes into the workers
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_die_with_parent)
    try:
        yield pool
    except BaseException:
        # an interrupt must not wait for what the workers are at
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        raise
    pool.shutdown()


def _die_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever, and its adapter with it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        watched = parent

        def follow() -> None:
            wait([watched.sentinel])
            os._exit(1)  # the watchdog of this process then ends its adapters

        threading.Thread(target=follow, daemon=True).start()


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError:
        raise AuditError("--cluster needs distributed: pip install 'dpadmm[cluster]'") from None
    with Client(address) as client:  # type: ignore[no-untyped-call]  # distributed has no annotations
        # pure=False: equal-looking chunks must never be served from a cache
        remote: Executor = client.get_executor(pure=False)
        yield remote


def workers_of(pool: Executor) -> int:
    """Return how many chunks to keep under way."""
    if isinstance(pool, Here):
        return 1
    client = getattr(pool, "_client", None)
    threads = sum(client.nthreads().values()) if client is not None else getattr(pool, "_max_workers", None)
    return max(1, threads) if isinstance(threads, int) else os.cpu_count() or 1


def chunks(seed: int, stream: int, pairs: int, size: int, start: int = 0) -> Sequence[Chunk]:
    """Return the chunks that make up ``pairs`` trial pairs, numbered from ``start``."""
    if pairs < 1 or size < 1:
        raise AuditError(f"pairs and size must be at least 1, got pairs={pairs!r}, size={size!r}")
    return [Chunk(seed, stream, start + i, min(size, pairs - i * size)) for i in range(-(-pairs // size))]


# -- scores saved chunk by chunk, so that a killed audit resumes and never counts a trial twice ------------------------
# One JSON line a chunk, appended in one write and synced; the first line names the audit by a digest of everything its
# numbers depend on. A line cut short by a kill is dropped and its chunk run again.

_VERSION = 3


def fingerprint(game: Game, command: tuple[str, ...], seed: int, stream: int, size: int) -> str:
    """Return a digest of all that the scores of an audit depend on."""
    digest = hashlib.sha256()
    plain = [game.name, str(game.algorithm), game.visibility.value, list(command), seed, stream, size]
    digest.update(json.dumps(plain).encode())
    digest.update(game.parameters.model_dump_json().encode())
    for records in (game.first, game.second):
        digest.update(np.ascontiguousarray(records.features).tobytes())
        digest.update(np.ascontiguousarray(records.labels).tobytes())
    return digest.hexdigest()


class _Line(WireModel):
    """One chunk; the digest is of the audit and all else: what was altered, or belongs elsewhere, is not counted."""

    chunk: int
    first: PackedArray
    second: PackedArray
    digest: str

    @classmethod
    def of(cls, scored: Scored, audit: str) -> Self:
        first, second = pack(scored.first), pack(scored.second)
        plain = json.dumps([audit, scored.number, first.base64, second.base64])
        return cls(chunk=scored.number, first=first, second=second, digest=hashlib.sha256(plain.encode()).hexdigest())

    def scored(self) -> Scored:
        first = unpack(self.first, "first")
        return Scored(self.chunk, first, unpack(self.second, "second", first.shape))


class Checkpoint:
    """The chunks of one audit that are already done, in a file."""

    def __init__(self, path: Path, identity: str) -> None:
        self._path = path
        self._identity = identity
        self.done: dict[int, Scored] = {}
        if path.exists():
            self._load()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            append_line(path, self._header)

    @property
    def _header(self) -> str:
        return json.dumps({"version": _VERSION, "audit": self._identity})

    def add(self, scored: Scored) -> None:
        """Write one chunk; a chunk that is already there is left as it is."""
        if scored.number not in self.done:
            append_line(self._path, _Line.of(scored, self._identity).model_dump_json())
            self.done[scored.number] = scored

    def _load(self) -> None:
        whole = self._path.read_bytes()
        complete = whole[: whole.rfind(b"\n") + 1]
        if len(complete) < len(whole):
            # the run was killed in the middle of a line: cut it off, or the next line would be glued to it
            os.truncate(self._path, len(complete))
        lines = complete.splitlines()
        if lines[:1] != [self._header.encode()]:
            raise CheckpointError(
                f"{self._path} belongs to another audit (other claim, parameters, command or seed); name another file "
                "or delete it"
            )
        for number, text in enumerate(lines[1:], start=2):
            try:
                line = _Line.model_validate_json(text)
                scored = line.scored()
            except ValueError as error:  # not JSON, not such an object, or no array
                raise CheckpointError(f"{self._path}:{number} is damaged: {error}") from None
            if line != _Line.of(scored, self._identity):
                raise CheckpointError(f"{self._path}:{number} is damaged: its digest is another")
            if not (np.isfinite(scored.first).all() and np.isfinite(scored.second).all()):
                raise CheckpointError(f"{self._path}:{number} is damaged: scores that are not finite")
            # the first copy counts: a chunk written twice holds the same trials
            self.done.setdefault(scored.number, scored)

    def __iter__(self) -> Iterator[Scored]:
        return iter(sorted(self.done.values(), key=lambda s: s.number))
