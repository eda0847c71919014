"""Running Coq in a folder of its own: the sources are copied there, so that nothing is written beside them."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "DPADMM"
SECONDS = 600.0  # for one file
MISSING = (
    "proof not re-checked here: Coq or Coquelicot is not installed "
    "(Debian: apt-get install coq libcoq-coquelicot; or make proofs)"
)


_SUMMARY = [
    "Theory",
    "Axioms",
    "Constants/Inductives relying on type-in-type",
    "Constants/Inductives relying on unsafe (co)fixpoints",
    "Inductives whose positivity is assumed",
]


class CoqFault(Exception):
    """Coq refused a file; the message is its own."""


class CoqTimeout(Exception):
    """Coq did not end in time: nothing is known about the file. No :class:`CoqFault`, so nothing takes it for one."""


@dataclass(frozen=True, slots=True)
class Coq:
    """The compiler, the folder in which it works, and the time (as of ``time.monotonic``) after which it is ended."""

    folder: Path
    deadline: float | None = None

    @staticmethod
    def installed() -> bool:
        """Whether ``coqc``, ``coqdep`` and ``coqchk`` can be run, and Coquelicot is there."""
        if any(shutil.which(program) is None for program in ("coqc", "coqdep", "coqchk")):
            return False
        where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=False).stdout.strip()
        return (Path(where) / "user-contrib" / "Coquelicot" / "Coquelicot.vo").is_file()

    def version(self) -> str:
        """The version, as ``coqc`` prints it."""
        return Coq(self.folder)._run("coqc", "--print-version").split()[0]

    def copy(self, sources: Path) -> None:
        """Take over every ``.v`` file."""
        for path in sources.glob("*.v"):
            shutil.copyfile(path, self.folder / path.name)

    def order(self) -> list[str]:
        """The files in an order in which each follows those it requires."""
        names = sorted(path.name for path in self.folder.glob("*.v"))
        return [Path(name).stem for name in self._run("coqdep", *self._library(), "-sort", *names).split()]

    def compile(self, module: str) -> str:
        """Compile a file; what it prints. Refused files raise :class:`CoqFault`."""
        return self._run("coqc", "-q", *self._library(), f"{module}.v")

    def recheck(self, modules: Sequence[str]) -> list[str]:
        """What Coq's second checker, which shares little code with the first, finds wrong with compiled files.

        The libraries are loaded and not checked again; no axiom may be ours, and no check may be switched off.
        """
        chosen = [word for module in modules for word in ("-norec", f"{LIBRARY}.{module}")]
        printed = self._run("coqchk", "-silent", "-o", *self._library(), *chosen, everything=True)
        sections = re.findall(r"^\* ([^:\n]+):(.*?)(?=^\*|\Z)", printed, re.MULTILINE | re.DOTALL)
        if [name for name, _ in sections] != _SUMMARY:
            return [f"coqchk printed another summary than expected: {[name for name, _ in sections]}"]
        off = [f"coqchk: {name}: {said.strip()}" for name, said in sections[2:] if said.strip() != "<none>"]
        ours = [axiom for axiom in sections[1][1].split() if axiom.startswith(f"{LIBRARY}.")]
        return off + [f"coqchk: {axiom} is an axiom" for axiom in ours]

    def text(self, module: str, text: str) -> str:
        """Write a file and compile it."""
        (self.folder / f"{module}.v").write_text(text, "utf-8")
        return self.compile(module)

    def _library(self) -> tuple[str, ...]:
        return "-Q", ".", LIBRARY

    def _run(self, *command: str, everything: bool = False) -> str:
        seconds = SECONDS if self.deadline is None else min(SECONDS, self.deadline - time.monotonic())
        try:
            ended = subprocess.run(
                command, cwd=self.folder, capture_output=True, text=True, timeout=max(seconds, 0.0), check=False
            )
        except subprocess.TimeoutExpired as late:
            raise CoqTimeout(f"{' '.join(command)}: no end within {max(seconds, 0.0):.0f} s") from late
        if ended.returncode != 0:
            raise CoqFault((ended.stderr or ended.stdout).strip())
        return ended.stdout + ended.stderr if everything else ended.stdout
