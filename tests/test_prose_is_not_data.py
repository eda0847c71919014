"""No decision hangs on the words of a message, or on how the name of a finding is written.

What a result is *about* (outcome, aspect, cause, cost, question) is a type. Its detail, reason, title and name are
written for people: code that compares them with strings, cuts them apart or looks them up in a table changes its mind
when a sentence is written better. This walks the syntax trees of the packages. The one
place that reads an id is `verification.outcome.About.read`, for what a user wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.walks import PACKAGES, ROOT

FIELDS = {
    *("detail", "reason", "name", "finding", "cause", "message", "title", "what", "stage", "subject", "tags"),
    *("question", "mechanism"),
}
"""Attributes of results that hold words."""
VARIABLES = {"detail", "reason", "finding", "cause", "message", "tag", "title"}
"""Variables that hold such words wherever they are."""
JUDGES = ("audits/gate/", "audits/report/", "verification/judge")
JUDGES_VARIABLES = {"name", "stage"}
"""Variables that hold them in these places, where every name is that of a finding."""
NOT_RESULTS = {"path", "system", "field", "law", "parameter", "file", "module", "node"}
"""Whose `name` is none of a result."""
CUTS = {
    *("startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix", "split", "rsplit"),
    *("find", "rfind", "index", "rindex", "count", "replace"),
}
PATTERNS = {"match", "search", "fullmatch", "findall", "split", "sub"}


def words(node: ast.expr, file: str) -> bool:
    """Whether an expression is the words of a result."""
    if isinstance(node, ast.Subscript):  # of what was cut apart
        return isinstance(node.value, ast.Call) and _cuts(node.value, file)
    if isinstance(node, ast.Attribute):
        holder = node.value
        last = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
        return node.attr in FIELDS and last not in NOT_RESULTS
    known = VARIABLES | JUDGES_VARIABLES if file.startswith(JUDGES) else VARIABLES
    return isinstance(node, ast.Name) and node.id in known


def literal(node: ast.expr) -> bool:
    """Whether an expression is a string, or a constant by its name, or several of them."""
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return any(map(literal, node.elts))
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.isupper()
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""
    )


def _cuts(call: ast.Call, file: str) -> bool:
    """Whether a call takes words apart; to split at white space is to lay them out."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if isinstance(call.func.value, ast.Name) and call.func.value.id == "re" and call.func.attr in PATTERNS:
        return any(words(argument, file) for argument in call.args)
    return call.func.attr in CUTS and bool(call.args) and words(call.func.value, file)


def _table(node: ast.expr) -> bool:
    """Whether an expression is a constant table."""
    return isinstance(node, ast.Dict) or (isinstance(node, ast.Name | ast.Attribute) and literal(node))


def _looked_up(call: ast.Call, file: str) -> bool:
    """Whether a call looks words up in a constant table."""
    get = isinstance(call.func, ast.Attribute) and call.func.attr == "get" and _table(call.func.value)
    return get and bool(call.args) and words(call.args[0], file)


def decides(node: ast.AST, file: str) -> bool:
    """Whether a node decides by the words of a result."""
    match node:
        case ast.Call():
            return _cuts(node, file) or _looked_up(node, file)
        case ast.Compare():
            if all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):  # a type, not its words
                return False
            sides = [node.left, *node.comparators]
            return any(words(side, file) for side in sides) and any(map(literal, sides))
        case ast.Subscript(value=table, slice=key):
            return _table(table) and words(key, file)
        case ast.Match():
            return words(node.subject, file)
    return False


def decisions(text: str, file: str) -> Iterator[str]:
    """The lines of a file that decide by words."""
    lines = text.splitlines()
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr | ast.stmt))
    for line in sorted({node.lineno for node in nodes if decides(node, file)}):
        yield f"{file}:{line}: {lines[line - 1].strip()}"


def found() -> dict[str, list[str]]:
    """What decides by words, by file."""
    files = {p.relative_to(ROOT).as_posix(): p for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py"))}
    every = {name: list(decisions(path.read_text(encoding="utf-8"), name)) for name, path in files.items()}
    return {name: listed for name, listed in every.items() if listed}


def test_no_decision_hangs_on_words() -> None:
    assert found() == {}


CONSTRUCTS = {
    "verification/judge.py": "turns tests into findings, and writes down what was not asked",
    "verification/vectors/checking.py": "a golden vector is reproduced or not: no p-value, no claim about privacy",
    "verification/statements/model.py": "a proof, an enclosure or an attack on a statement of the paper",
}
"""The files that construct findings, and why each may."""


def concludes(node: ast.AST) -> bool:
    """Whether a node constructs a finding, or a copy of one with another outcome or cause."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    changed = {keyword.arg for keyword in node.keywords}
    return called in {"Finding", "CaseFinding"} or (called == "replace" and bool(changed & {"outcome", "cause"}))


def test_findings_are_constructed_by_the_judge_alone() -> None:
    made = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if any(map(concludes, ast.walk(ast.parse(path.read_text("utf-8")))))
    }
    # a class method of CaseFinding constructs one as well
    assert made | {"verification/vectors/checking.py"} == set(CONSTRUCTS)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("found = dataclasses.replace(found, outcome=Outcome.REFUTED)", True),
        ("found = replace(found, cause=cause)", True),
        ("found = outcome.Finding(about, outcome, detail)", True),
        ("found = replace(found, detail=harmless(found.detail))", False),
        ("text = text.replace('a', 'b')", False),
    ],
)
def test_another_place_that_concludes_is_found(line: str, wrong: bool) -> None:
    assert any(map(concludes, ast.walk(ast.parse(line)))) is wrong


@pytest.mark.parametrize(
    "line",
    [
        "games = _learned if kept.about.question == LEARNED else _game",
        "late = f.detail.startswith(UNREAD)",
        "chosen = [c for c in causes if 'too' in c.cause]",
        "head = 'too' in cause",
        "title = kept.finding.partition(': ')[2]",
        "stage = finding.name == 'distinguishable'",
        "seen = s.name in ('silent', 'last')",
        "aspects = ASPECTS[finding.name]",
        "word = {'audit': 1}.get(finding.stage)",
        "found = re.search('epsilon', finding.detail)",
        "match finding.name:\n    case 'noise':\n        pass",
        "stage = tag.removeprefix('cause: ')",
        "head = f'{stage}: x' == kept.finding",
    ],
)
def test_a_decision_by_words_is_found(line: str) -> None:
    assert list(decisions(line, "verification/outcome.py"))


@pytest.mark.parametrize(
    "line",
    [
        "late = f.outcome is Outcome.SKIPPED",
        "cause = finding.cause is Cause.NOISE",
        "python = path.name.endswith('.py')",
        "double = system.name == 'float64'",
        "shown = ' '.join(finding.reason.split())",
        "print(finding.detail)",
        "same = finding.name == other.name",
        "count = counts.get(value.name, 0)",
        "missing = finding.detail == ''",
    ],
)
def test_what_decides_by_types_or_lays_words_out_is_not(line: str) -> None:
    assert not list(decisions(line, "verification/outcome.py"))
