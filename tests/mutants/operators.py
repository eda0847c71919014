"""A general mutation tool: every single-node change of a module, from a fixed list of operators."""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_BINARY: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
}
_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One mutant of a module: the function, by its qualified name, and the statement with the change marked in it.

    Both together tell it from every other mutant of the module, and stay the same when lines move.
    """

    function: str
    text: str
    line: int
    node: int
    replacement: int


def changes(source: str) -> Iterator[Change]:
    """Every mutant of a module; only what runs inside functions is changed, never a message or an annotation."""
    tree = ast.parse(source)
    places = dict(_running(tree))
    seen: Counter[tuple[str, str]] = Counter()
    for index, node in enumerate(ast.walk(tree)):
        if node not in places:
            continue
        function, statement = places[node]
        for which, replacement in enumerate(_replacements(node)):
            text = marked(_header(statement), _header(_replaced(statement, node, replacement)))
            seen[function, text] += 1
            if seen[function, text] > 1:
                text += f" (statement {seen[function, text]} of its kind)"
            yield Change(function, text, getattr(node, "lineno", 0), index, which)


def mutated(source: str, change: Change) -> ast.Module:
    """The module with the change in it."""
    tree = ast.parse(source)
    node = next(found for index, found in enumerate(ast.walk(tree)) if index == change.node)
    _Replace(node, list(_replacements(node))[change.replacement]).visit(tree)
    return ast.fix_missing_locations(tree)


def marked(before: str, after: str) -> str:
    """The text before, with what is different after it: ``bits = «256 → 257»``."""
    old, new = (re.findall(r"\w+(?:\.\w+)*|\s+|[<>=!]=|[*]{2}|//|.", text) for text in (before, after))
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    end = next((i for i in range(shorter - start) if old[-1 - i] != new[-1 - i]), shorter - start)
    was, became = ("".join(tokens[start : len(tokens) - end]).strip() for tokens in (old, new))
    return f"{''.join(old[:start])}«{was} → {became}»{''.join(old[len(old) - end :])}"


def _header(statement: ast.stmt) -> str:
    """A statement in one line, without the statements that it holds."""
    if isinstance(statement, ast.If | ast.While | ast.For | ast.With):
        statement = copy.copy(statement)
        statement.body = []
        if not isinstance(statement, ast.With):
            statement.orelse = []
    return " ".join(ast.unparse(statement).split())


def _replaced(statement: ast.stmt, node: ast.AST, replacement: ast.expr) -> ast.stmt:
    copied = copy.deepcopy(statement)
    index = next(i for i, found in enumerate(ast.walk(statement)) if found is node)
    target = next(found for i, found in enumerate(ast.walk(copied)) if i == index)
    changed = _Replace(target, replacement).visit(copied)
    assert isinstance(changed, ast.stmt)
    return changed


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self._target, self._replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        """Put the replacement where the target was."""
        return self._replacement if node is self._target else self.generic_visit(node)


def _running(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[str, ast.stmt]]]:
    """Every node of a function's body that runs and is no raise, annotation, docstring or format."""

    def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, child
                yield from functions(child, f"{prefix}{child.name}.<locals>.")
            else:
                yield from functions(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)

    for name, function in functions(tree, ""):
        for statement in function.body:
            yield from ((node, (name, around)) for node, around in _collect(statement, statement))


def _collect(node: ast.AST, around: ast.stmt) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """The nodes of a statement, each with the innermost statement around it."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    around = node if isinstance(node, ast.stmt) else around
    yield node, around
    for name, child in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.AST):
                yield from _collect(part, around)


def _replacements(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp():
            for operator in _BINARY.get(type(node.op), ()):
                yield ast.BinOp(node.left, operator(), node.right)
        case ast.Compare(ops=[first]):
            for comparison in _COMPARE.get(type(first), ()):
                yield ast.Compare(node.left, [comparison()], node.comparators)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node.operand
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1 if number + 1 != number else 2 * number)
