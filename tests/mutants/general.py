r"""Run the general mutation tool: ``python -m tests.mutants.general [--jobs N] [MODULE...]``.

Each mutant lives in a forked child: the code of the module's functions is exchanged in place, so that every importer
sees it, and the judges are asked until one notices. A child that uses much more processor time than its judges need
when nothing is wrong is noticed as well. What is left is a survivor, and ``survivors.toml`` says of each why nobody can
or need notice it. A run goes on where its record stops.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.mutants import record
from tests.mutants.exchange import exchange
from tests.mutants.jury import Judge, NotAskedError, jury_of
from tests.mutants.operators import Change, mutated
from tests.mutants.record import Tried
from tests.mutants.scope import modules, mutants_of, path_of
from tests.mutants.survivors import why

WALL_SECONDS = 3600
CHILD_BYTES = 8 << 30
Mutant = tuple[str, Change]


def judge(module: str, change: Change, judges: Sequence[Judge]) -> str:
    """Who notices the mutant, in a child; empty if nobody does."""
    limit = 20 + round(2 * sum(judge.seconds for judge in judges))
    loaded = importlib.import_module(module.removesuffix(".__init__"))
    tree = mutated(path_of(module).read_text("utf-8"), change)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        verdict = ""
        resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES, CHILD_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        try:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            placed = change.function.partition(".<locals>")[0] in exchange(loaded, tree)
            noticed = next((judge.name for judge in judges if not _quietly(judge.passes)), "-")
            verdict = noticed if placed else "?"
        except NotAskedError:
            verdict = "?"
        finally:
            os.write(write, verdict.encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        # Processor time decides, whatever else the machine does; the wall clock only ends a mutant that sleeps.
        answered, _, _ = select.select([pipe], [], [], WALL_SECONDS)
        said = pipe.read() if answered else ""
    if not answered:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}:
        raise RuntimeError(f"{module}: {change.text} was ended from outside, which is no verdict")
    if said == "?":
        raise RuntimeError(f"{module}: {change.function} could not be exchanged, or its judges not be asked")
    return "" if said == "-" else said or "time limit"


def _quietly(passes: Callable[[], bool]) -> bool:
    try:
        return passes()
    except NotAskedError:
        raise
    except BaseException:
        return False


def key_of(module: str, change: Change) -> record.Key:
    """What tells a mutant from all others."""
    return module, change.function, change.text


def pool_of(names: Sequence[str], seed: int) -> list[Mutant]:
    """Every mutant of the modules, shuffled, so that a time limit leaves a random sample."""
    pool = [(name, change) for name in names for change in mutants_of(name)]
    random.Random(seed).shuffle(pool)
    return pool


def run(
    pool: Sequence[Mutant], *, seconds: float | None = None, every: bool = False, kept: Path | None = None
) -> list[Tried]:
    """Try mutants one by one while the time lasts, which begins when their judges have been watched."""
    watch_judges_of(pool)
    tried: list[Tried] = []
    deadline = None if seconds is None else time.monotonic() + seconds
    for done, (name, change) in enumerate(pool):
        if deadline is not None and time.monotonic() > deadline:
            break
        judges = jury_of(name.partition(".")[0]).judges(name, change.function, every=every)
        tried.append(Tried(*key_of(name, change), judge(name, change, judges)))
        verdict = tried[-1].by or ("survives, explained" if why(tried[-1]) else "SURVIVES")
        sys.stderr.write(f"{done + 1}/{len(pool)} {name} {change.function}: {change.text}: {verdict}\n")
        if kept is not None:
            record.append(kept, tried[-1])
    return tried


def watch_judges_of(pool: Sequence[Mutant]) -> None:
    """Watch, once in a process and those it forks, everybody who judges one of the mutants."""
    for package in sorted({name.partition(".")[0] for name, _ in pool}):
        sys.stderr.write(f"watching the judges of {package}, unless they have been\n")
        jury_of(package)


def share_among(jobs: int, pool: list[Mutant], work: Callable[[list[Mutant]], object]) -> None:
    """Share a pool among forked processes, which inherit what is known of the judges."""
    watch_judges_of(pool)
    children = []
    for job in range(jobs):
        child = os.fork()
        if child == 0:
            code = 70
            try:
                work(pool[job::jobs])
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    if {os.waitpid(child, 0)[1] for child in children} != {0}:
        raise RuntimeError("a process of the tool failed")


def main() -> int:
    """Try what the record does not know yet; print the survivors that nobody has explained, and return 1 for them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, help="stop after so long, with a random sample")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    parser.add_argument("--record", type=Path, default=record.KEPT, help="keeps the answers, and is gone on from")
    parser.add_argument("--again", action="store_true", help="ask every judge about survivors that are not explained")
    parser.add_argument("modules", nargs="*", help="all that are in scope, unless some are named")
    given = parser.parse_args()
    known = record.read(given.record)
    asked = {key for key, tried in known.items() if tried.by or why(tried) or not given.again}
    pool = [mutant for mutant in pool_of(given.modules or modules(), given.seed) if key_of(*mutant) not in asked]
    share_among(given.jobs, pool, lambda share: run(share, seconds=given.seconds, every=given.again, kept=given.record))
    holes = sorted(key for key, tried in record.read(given.record).items() if not tried.by and not why(tried))
    for module, function, change in holes:
        print(f"{module} {function}: {change}")
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
