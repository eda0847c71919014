r"""Check every theorem: it compiles, states what the table says, and rests on no axiom but those of the reals.

What is not checked is never reported as proved: a theorem stands only if its file passed the scan and compiled, its
statement and all definitions in it match the table, and its list of assumptions was read in full.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verification.proofs.coq import Coq, CoqFault
from verification.proofs.expected import axioms, mismatches
from verification.proofs.sources import Source, words
from verification.proofs.table import FOLDER, Definition, Theorem, TheoremTable, read

# The axioms behind Coq's real numbers (Reals), and nothing else.
ALLOWED = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)


@dataclass(frozen=True, slots=True)
class TheoremVerdict:
    """Whether a theorem stands; ``fault`` says why not, ``axioms`` what it rests on at most."""

    theorem: Theorem
    fault: str = ""
    axioms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofReport:
    """All verdicts, and what is wrong with files, definitions or the table as a whole."""

    version: str
    verdicts: Mapping[str, TheoremVerdict]
    faults: tuple[str, ...]

    @property
    def stands(self) -> bool:
        """Whether everything is as the table says."""
        return not self.faults and all(not verdict.fault for verdict in self.verdicts.values())

    def about(self, *names: str) -> list[str]:
        """Why the named theorems do not stand; empty where all do. A fault anywhere counts against each."""
        return [*self.faults, *(f"{name}: {self.verdicts[name].fault}" for name in names if self.verdicts[name].fault)]


@functools.cache
def checked() -> ProofReport:
    """The report on the theorems of this project, once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        return check(FOLDER, Path(folder))


def check(sources: Path, work: Path) -> ProofReport:
    """Check the ``.v`` files and the table of a folder, compiling in another."""
    coq, table = Coq(work), read(sources)
    everything: list[Theorem | Definition] = [*table.theorem, *table.definition]
    texts = {path.stem: Source.read(path) for path in sorted(sources.glob("*.v"))}
    faults = [fault for text in texts.values() for fault in text.faults()]
    faults += [f"{e.file}.v: no such file ({e.name})" for e in everything if e.file not in texts]
    faults = faults or _not_pinned(table, texts)
    if faults:
        return _refused(coq, table, faults)
    coq.copy(sources)
    try:
        for module in coq.order():
            coq.compile(module)
    except CoqFault as fault:
        return _refused(coq, table, [str(fault)])
    wrong = {
        (name, entry): said
        for name, source in texts.items()
        if (entries := [entry for entry in everything if entry.file == name])
        for entry, said in mismatches(coq, source, entries).items()
    }
    shared = axioms(coq, table.theorem)
    alone = shared is None or not ALLOWED.issuperset(shared)  # one of them is to blame: list each by itself
    verdicts = {
        t.name: _verdict(t, wrong.get((t.file, t.name)), axioms(coq, [t]) if alone else shared) for t in table.theorem
    }
    names = {(d.file, d.name) for d in table.definition}
    faults = [
        f"{file}.v: {name} is not what the table says: {said}"
        for (file, name), said in wrong.items()
        if (file, name) in names
    ]
    return ProofReport(coq.version(), verdicts, tuple(faults))


def _verdict(theorem: Theorem, mismatch: str | None, rests_on: tuple[str, ...] | None) -> TheoremVerdict:
    if mismatch is not None:
        return TheoremVerdict(theorem, f"does not state what the table says: {mismatch}")
    if rests_on is None:
        return TheoremVerdict(theorem, "its list of assumptions could not be read")
    beyond = sorted(set(rests_on) - ALLOWED)
    fault = f"rests on axioms that are not allowed: {', '.join(beyond)}" if beyond else ""
    return TheoremVerdict(theorem, fault, rests_on)


def _not_pinned(table: TheoremTable, texts: Mapping[str, Source]) -> list[str]:
    """Definitions that a statement of the table uses and that the table does not pin."""
    pinned = {(definition.file, definition.name) for definition in table.definition}
    missing: dict[str, None] = {}
    entries: list[Theorem | Definition] = [*table.theorem, *table.definition]
    for entry in entries:
        text = entry.statement if isinstance(entry, Theorem) else (entry.body or entry.type or "")
        for module in _visible(entry.file, texts):
            made = texts[module].definitions()
            for name in sorted(words(text) & made.keys()):
                if (module, made[name]) not in pinned:
                    missing[f"{module}.v: {made[name]} occurs in a statement but is not pinned in theorems/*.toml"] = (
                        None
                    )
    return list(missing)


def _visible(name: str, texts: Mapping[str, Source]) -> list[str]:
    """A file and all that it requires, directly or not: what is exported is visible as well."""
    found, waiting = {name: None}, [name]
    while waiting:
        new = [module for module in texts[waiting.pop()].modules() if module not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _refused(coq: Coq, table: TheoremTable, faults: list[str]) -> ProofReport:
    unchecked = {
        theorem.name: TheoremVerdict(theorem, "not checked: the files were refused") for theorem in table.theorem
    }
    return ProofReport(coq.version(), unchecked, tuple(faults))
