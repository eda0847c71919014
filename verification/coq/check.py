r"""Check every theorem: it compiles, states what the table says, and rests on no axiom but those of the reals.

1. The text of every file is refused unless each of its sentences is of a known kind (:mod:`verification.coq.sources`).
2. Every file is compiled, and read again by Coq's second checker, ``coqchk``.
3. Every theorem, by its fully qualified name, must be a proof of the statement in the table. There the names of our
   definitions are qualified as well, and libraries alone are imported: a file cannot change what a word means.
4. ``Print Assumptions`` must list nothing but the axioms of the reals, each with the type it has in the library.
5. The table must be that of ``names.toml``. Every theorem with a long list of hypotheses must be applied, in
   ``Instances.v``, to values that satisfy them, until nothing is left to assume.

What is not checked is never reported as proved.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from verification.coq.coq import Coq, CoqFault, CoqTimeout
from verification.coq.sources import Source, sentences, without_comments, words
from verification.coq.table import FOLDER, Definition, Theorem, TheoremTable, read

# The axioms behind Coq's real numbers (Reals) with their types, and nothing else.
ALLOWED: Mapping[str, str] = {
    "ClassicalDedekindReals.sig_not_dec": "forall P : Prop, {~ ~ P} + {~ P}",
    "ClassicalDedekindReals.sig_forall_dec": "forall P : nat -> Prop, (forall n : nat, {P n} + {~ P n}) -> "
    "{n : nat | ~ P n} + {forall n : nat, P n}",
    "FunctionalExtensionality.functional_extensionality_dep": "forall (A : Type) (B : A -> Type) "
    "(f g : forall x : A, B x), (forall x : A, f x = g x) -> f = g",
    "Classical_Prop.classic": "forall P : Prop, P \\/ ~ P",
}
LONG = 12
"""A theorem whose statement has this many arrows or more needs an instance."""
IN_FULL = "EndToEnd"
"""The file whose theorems are listed one by one with their axioms; of the others the table gives what all rest on."""
INSTANCES = "Instances"
"""The file in which ``at_`` and the name of a theorem is its instance."""
_CLOSED = "Closed under the global context"
_WORKERS = 2

Entry = Theorem | Definition


@dataclass(frozen=True, slots=True)
class TheoremVerdict:
    """Whether a theorem stands; ``fault`` says why not, ``axioms`` what it rests on (outside EndToEnd.v, at most)."""

    theorem: Theorem
    fault: str = ""
    axioms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofReport:
    """All verdicts, and what is wrong with files, definitions or the table as a whole.

    Where Coq did not end in time, ``undecided`` says with what: then no theorem is checked, and none is wrong.
    """

    version: str
    verdicts: Mapping[str, TheoremVerdict]
    faults: tuple[str, ...]
    undecided: str = ""

    @property
    def stands(self) -> bool:
        """Whether everything is as the table says."""
        return not self.undecided and not self.faults and all(not verdict.fault for verdict in self.verdicts.values())

    def about(self, *names: str) -> list[str]:
        """Why the named theorems do not stand; empty where all do. A fault anywhere counts against each."""
        missing = [f"{name}: there is no such theorem" for name in names if name not in self.verdicts]
        wrong = (verdict for name in names if (verdict := self.verdicts.get(name)) and verdict.fault)
        return [*self.faults, *missing, *(f"{verdict.theorem.name}: {verdict.fault}" for verdict in wrong)]


@functools.cache
def checked(deadline: float | None = None) -> ProofReport:
    """The report on the theorems of this project, once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        return check(FOLDER, Path(folder), deadline)


def check(sources: Path, work: Path, deadline: float | None = None) -> ProofReport:
    """Check the ``.v`` files and the table of a folder, compiling in another, until the deadline."""
    coq, table = Coq(work, deadline), read(sources)
    try:
        return _checked(coq, table, sources)
    except CoqTimeout as late:
        unchecked = {t.name: TheoremVerdict(t, "not checked in time") for t in table.theorem}
        return ProofReport(coq.version(), unchecked, (), f"not checked in time: {late}")


def _checked(coq: Coq, table: TheoremTable, sources: Path) -> ProofReport:
    entries: list[Entry] = [*table.theorem, *table.definition]
    texts = {path.stem: Source.read(path) for path in sorted(sources.glob("*.v"))}
    faults = [fault for text in texts.values() for fault in text.faults()]
    faults += [f"{e.file}.v: no such file ({e.name})" for e in entries if e.file not in texts]
    faults += table.changed() + _hidden_names(texts) + _table_faults(table)
    faults = faults or _not_pinned(entries, texts)
    if not faults:
        coq.copy(sources)
        try:
            _compile_all(coq, texts)
            faults = coq.recheck(sorted(texts))
        except CoqFault as fault:
            faults = [str(fault)]
    if faults:
        unchecked = {t.name: TheoremVerdict(t, "not checked: the files were refused") for t in table.theorem}
        return ProofReport(coq.version(), unchecked, tuple(faults))
    return _compared(coq, table, texts)


def _compared(coq: Coq, table: TheoremTable, texts: Mapping[str, Source]) -> ProofReport:
    entries: list[Entry] = [*table.theorem, *table.definition]
    wrong: dict[tuple[str, str], str] = {}
    with ThreadPoolExecutor(_WORKERS) as pool:
        of_file = {name: [entry for entry in entries if entry.file == name] for name in texts}
        for found in pool.map(lambda name: _mismatches(coq, name, texts, of_file[name]), texts):
            wrong |= found
    stating = [theorem for theorem in table.theorem if (theorem.file, theorem.name) not in wrong]
    alone = [theorem for theorem in stating if theorem.file == IN_FULL]
    shared, *each = _axioms(coq, [stating, *([theorem] for theorem in alone)])
    rests_on = dict.fromkeys((theorem.name for theorem in stating), shared)
    if shared is None or _beyond(shared):  # one of them is to blame: list each by itself
        rests_on = {theorem.name: _axioms(coq, [[theorem]])[0] for theorem in stating}
    rests_on |= {theorem.name: listed for theorem, listed in zip(alone, each, strict=True)}
    verdicts = {
        t.name: TheoremVerdict(t, f"does not state what the table says: {wrong[t.file, t.name]}")
        if t not in stating
        else _verdict(t, rests_on[t.name])
        for t in table.theorem
    }
    faults = [
        f"{d.file}.v: {d.name} is not what the table says: {wrong[d.file, d.name]}"
        for d in table.definition
        if (d.file, d.name) in wrong
    ]
    return ProofReport(coq.version(), verdicts, (*faults, *_instance_faults(coq, table, texts)))


def _compile_all(coq: Coq, texts: Mapping[str, Source]) -> None:
    """Compile every file once those that it requires are compiled, two at a time; the first refusal is raised."""
    done: dict[str, Future[str]] = {}

    def after(module: str, needed: Sequence[Future[str]]) -> str:
        for each in needed:  # files are begun in an order in which none waits for a later one
            each.result()
        return coq.compile(module)

    with ThreadPoolExecutor(_WORKERS) as pool:
        for module in coq.order():
            done[module] = pool.submit(after, module, [done[name] for name in texts[module].modules() if name in done])
    for each in done.values():
        each.result()


def _verdict(theorem: Theorem, rests_on: Mapping[str, str] | None) -> TheoremVerdict:
    if rests_on is None:
        return TheoremVerdict(theorem, "its list of assumptions could not be read")
    beyond = _beyond(rests_on)
    fault = f"rests on axioms that are not allowed: {', '.join(beyond)}" if beyond else ""
    return TheoremVerdict(theorem, fault, tuple(sorted(rests_on)))


def _beyond(rests_on: Mapping[str, str]) -> list[str]:
    return sorted(f"{name} : {said}" for name, said in rests_on.items() if ALLOWED.get(name) != said)


# -- before anything is compiled ---------------------------------------------------------------------------------


def _hidden_names(texts: Mapping[str, Source]) -> list[str]:
    """Files that bear the name of a library of axioms, and definitions of one name in two files."""
    libraries = {name.partition(".")[0] for name in ALLOWED}
    made: dict[str, list[str]] = {}
    for name, text in texts.items():
        for each in text.definitions():
            made.setdefault(each, []).append(name)
    twice = {each: files for each, files in made.items() if len(files) > 1}
    return [
        *(f"{name}.v: Coq's library has a file of this name" for name in texts if name in libraries),
        *(f"{each} is defined in {' and '.join(files)}: a statement must not be able to mean either"
          for each, files in twice.items()),
    ]  # fmt: skip


def _table_faults(table: TheoremTable) -> list[str]:
    """Statements that are more than one sentence."""
    entries: list[Entry] = [*table.theorem, *table.definition]
    return [
        f"{entry.file}.{entry.name}: a statement is one sentence of Coq"
        for entry in entries
        if len(sentences(without_comments(entry.text))) != 1 or '"' in entry.text
    ]


def _not_pinned(entries: Sequence[Entry], texts: Mapping[str, Source]) -> list[str]:
    """Definitions that a statement of the table uses and that the table does not pin."""
    pinned = {(entry.file, entry.name) for entry in entries if isinstance(entry, Definition)}
    missing: dict[str, None] = {}
    for entry in entries:
        for module in _visible(entry.file, texts):
            made = texts[module].definitions()
            for name in sorted(words(entry.text) & made.keys()):
                for each in made[name]:
                    if (module, each) not in pinned:
                        missing[f"{module}.v: {each} occurs in a statement but is not pinned in theorems/*.toml"] = None
    return list(missing)


def _visible(name: str, texts: Mapping[str, Source]) -> list[str]:
    """A file and all that it requires, directly or not."""
    found, waiting = {name: None}, [name]
    while waiting:
        new = [module for module in texts[waiting.pop()].modules() if module in texts and module not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


# -- the generated files -----------------------------------------------------------------------------------------


def _mismatches(
    coq: Coq, name: str, texts: Mapping[str, Source], entries: Sequence[Entry]
) -> dict[tuple[str, str], str]:
    """The entries of one file that do not match it, and what Coq says."""
    if not entries:
        return {}
    lines = [line for entry in entries for line in _expectation(entry, texts)]
    try:
        coq.text(f"Expected_{name}", "\n".join([*_head(name, texts, entries), *lines, ""]))
    except CoqFault as fault:
        if len(entries) == 1:
            return {(name, entries[0].name): str(fault)}
        halves = entries[: len(entries) // 2], entries[len(entries) // 2 :]
        return {key: said for half in halves for key, said in _mismatches(coq, name, texts, half).items()}
    return {}


def _head(name: str, texts: Mapping[str, Source], entries: Iterable[Entry] = ()) -> list[str]:
    """Libraries are imported, of our files coercions alone: neither their names nor their notations are in force."""
    visible = _visible(name, texts)
    libraries = dict.fromkeys(
        f"From {library} Require Import {' '.join(files)}."
        for module in visible
        for library, files in texts[module].requires()
        if library != "DPADMM"
    )
    imports = dict.fromkeys(f"Import {module}." for entry in entries for module in entry.imports)
    reals = any("Reals" in words(line) for line in libraries)
    own = [f"From DPADMM Require {module}. Import (coercions) {module}." for module in visible]
    return [*own, *libraries, *imports, *(["Open Scope R_scope."] if reals else [])]


def _expectation(entry: Entry, texts: Mapping[str, Source]) -> Iterator[str]:
    # Each in a module of its own, so that no expectation can hide a name from the next; and what the table says is
    # read by itself, so that nothing it leaves open is filled in from the file.
    says, type_of = f"({_qualified(entry, texts)})", f"ltac:(let T := type of (@{entry.full_name}) in exact T)"
    yield f"Module Check_{entry.name}."
    if isinstance(entry, Definition) and entry.body is not None:
        yield f"Definition says : {type_of} := {says}. Definition expected : @{entry.full_name} = says := eq_refl."
    else:
        yield f"Definition says := {says}. Definition expected : says := @{entry.full_name}."
    yield f"End Check_{entry.name}."


def _qualified(entry: Entry, texts: Mapping[str, Source]) -> str:
    """The pinned text with the full name of each of our definitions and theorems, except where the name is bound."""
    text, visible = entry.text.strip(), _visible(entry.file, texts)
    owners = {name: module for module in visible for name in {*texts[module].definitions(), *texts[module].theorems()}}

    def full(found: re.Match[str]) -> str:
        name = found[0]
        return f"DPADMM.{owners[name]}.{name}" if name in owners and name not in bound else name

    bound = {
        name
        for binder in re.findall(r"(?:forall|fun|exists|let|fix|as)\b([^,]*?)(?:,|=>|:=|\bin\b)", text)
        for name in _bound_names(binder)
    }
    return re.sub(r"(?<![\w.'])[A-Za-z_][\w']*", full, text)


def _bound_names(binder: str) -> set[str]:
    """The variables of a list of binders such as ``(f g : nat -> R) x``."""
    groups = re.findall(r"[({]([^():{}]*):", binder)
    plain = re.sub(r"[({][^(){}]*(?:\([^()]*\)[^(){}]*)*[)}]", " ", binder).partition(":")[0]
    return {name for group in (*groups, plain) for name in words(group)}


def _axioms(coq: Coq, groups: Sequence[Sequence[Theorem]]) -> list[dict[str, str] | None]:
    """The axioms that each group of theorems rests on, with their types; None where the list cannot be read."""
    # Required, not imported: Coq then prints the axioms of its library under their qualified names. One list for many,
    # because Coq walks through its whole library of reals for every list.
    lines = [f"Require DPADMM.{module}." for module in dict.fromkeys(each.file for group in groups for each in group)]
    for number, group in enumerate(groups):
        everything = ", ".join(f"@{theorem.full_name}" for theorem in group)
        lines += [f"Definition group{number} := ({everything}, tt).", f"Print Assumptions group{number}."]
    try:
        printed = coq.text("Assumptions", "\n".join(["Set Printing Width 100000.", *lines, ""]))
    except CoqFault:
        return [None for _ in groups]
    listed = [
        _listed(part) for part in re.split(rf"^(?=Axioms:$|{_CLOSED}$)", printed, flags=re.MULTILINE) if part.strip()
    ]
    return listed if len(listed) == len(groups) else [None for _ in groups]


def _listed(printed: str) -> dict[str, str] | None:
    """The names and types in one answer to ``Print Assumptions``; None where it has another form."""
    if printed.strip() == _CLOSED:
        return {}
    first, _, rest = printed.strip().partition("\n")
    joined = re.sub(r"\n\s+", " ", rest)
    entries = [re.match(r"^([\w.']+) : (.+)$", line) for line in joined.splitlines()]
    found = {entry[1]: " ".join(entry[2].split()) for entry in entries if entry}
    return found if first == "Axioms:" and found and len(found) == len(entries) else None


# -- hypotheses that can be met ----------------------------------------------------------------------------------


def arrows(theorem: Theorem) -> int:
    """How many arrows a statement has: about as many hypotheses."""
    return theorem.statement.count("->")


def instances(table: TheoremTable, made: Iterable[str]) -> list[Theorem]:
    """The theorems that have an instance among the definitions ``made`` by ``Instances.v``."""
    names = set(made)
    return [theorem for theorem in table.theorem if f"at_{theorem.name}" in names]


def _instance_faults(coq: Coq, table: TheoremTable, texts: Mapping[str, Source]) -> list[str]:
    """Long theorems without an instance; instances that leave a hypothesis open, or that rest on an axiom of ours."""
    have = instances(table, texts[INSTANCES].definitions()) if INSTANCES in texts else []
    found = [
        f"{theorem.file}.{theorem.name}: no instance shows that its hypotheses can be met"
        for theorem in table.theorem
        if arrows(theorem) >= LONG and theorem not in have
    ]
    if have and _refused(coq, have):
        found += [fault for theorem in have for fault in _refused(coq, [theorem])]
    return found


def _refused(coq: Coq, theorems: Sequence[Theorem]) -> list[str]:
    """What is wrong with instances in one generated file; checked together, they load the libraries once."""
    about = ", ".join(theorem.name for theorem in theorems)
    constants = {theorem: f"DPADMM.{INSTANCES}.at_{theorem.name}" for theorem in theorems}
    text = [f"Require DPADMM.{INSTANCES}.", *_NOTHING_LEFT]
    text += [line for theorem, constant in constants.items() for line in _applied(theorem, constant)]
    text += [f"Definition everything := ({', '.join(constants.values())}, tt).", "Set Printing Width 100000."]
    try:
        printed = coq.text("Instances_of_theorems", "\n".join([*text, "Print Assumptions everything.", ""]))
    except CoqFault as fault:
        return [f"instance of {about}: {fault}"]
    rests_on = _listed(printed)
    return [f"instance of {about}: rests on {printed.strip()}"] if rests_on is None or _beyond(rests_on) else []


_NOTHING_LEFT = (
    "Ltac nothing_left t := let T := type of t in let U := eval cbv beta zeta in T in",
    '  lazymatch U with forall _, _ => fail "a hypothesis is left" | _ => idtac end.',
)


def _applied(theorem: Theorem, constant: str) -> tuple[str, ...]:
    """The instance is the theorem itself, applied: rebuilt, so that no type written beside it hides a hypothesis."""
    applied = f"applied_{theorem.name}"
    cases = f'?f ?x => let g := {applied} f in constr:(g x) | @{theorem.full_name} => t | _ => fail "not applied"'
    return (
        f"Ltac {applied} t := lazymatch t with {cases} end.",
        f"Goal True. let t := eval unfold {constant} in {constant} in let u := {applied} t in nothing_left u.",
        "exact I. Qed.",
    )
