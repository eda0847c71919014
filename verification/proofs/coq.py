"""Running Coq in a folder of its own: the sources are copied there, so that nothing is written beside them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "DPADMM"
SECONDS = 600.0  # for one file
MISSING = "proof not re-checked here: coqc is not installed (Debian: apt-get install coq; or make proofs)"


class CoqFault(Exception):
    """Coq refused a file; the message is its own."""


@dataclass(frozen=True, slots=True)
class Coq:
    """The compiler, and the folder in which it works."""

    folder: Path

    @staticmethod
    def installed() -> bool:
        """Whether ``coqc`` and ``coqdep`` can be run."""
        return shutil.which("coqc") is not None and shutil.which("coqdep") is not None

    def version(self) -> str:
        """The version, as ``coqc`` prints it."""
        return self._run("coqc", "--print-version").split()[0]

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

    def text(self, module: str, text: str) -> str:
        """Write a file and compile it."""
        (self.folder / f"{module}.v").write_text(text, "utf-8")
        return self.compile(module)

    def _library(self) -> tuple[str, ...]:
        return "-Q", ".", LIBRARY

    def _run(self, *command: str) -> str:
        try:
            ended = subprocess.run(
                command, cwd=self.folder, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired as late:
            raise CoqFault(f"{' '.join(command)}: no end within {SECONDS:.0f} s") from late
        if ended.returncode != 0:
            raise CoqFault((ended.stderr or ended.stdout).strip())
        return ended.stdout
