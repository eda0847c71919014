"""A general mutation tool: every single-node change of a module, from a fixed list of operators."""

from __future__ import annotations

import ast
import copy
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


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One mutated module: the tree, and what was changed where."""

    tree: ast.Module
    function: str
    line: int
    was: str
    became: str


def changes(source: str) -> Iterator[Change]:
    """Every mutated version of a module; only what runs inside functions is changed, never a message or annotation."""
    original = ast.parse(source)
    for place, node in enumerate(ast.walk(original)):
        if not _runs(original, node):
            continue
        for replacement in _replacements(node):
            tree = copy.deepcopy(original)
            target = next(found for index, found in enumerate(ast.walk(tree)) if index == place)
            before = ast.unparse(target)
            _Replace(target, replacement).visit(tree)
            ast.fix_missing_locations(tree)
            line = getattr(node, "lineno", 0)
            yield Change(tree, _function_at(original, line), line, before, ast.unparse(replacement))


def _function_at(tree: ast.Module, line: int) -> str:
    """The name of the innermost function that holds a line."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno).name


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self._target, self._replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        """Put the replacement where the target was."""
        return self._replacement if node is self._target else self.generic_visit(node)


def _runs(tree: ast.Module, node: ast.AST) -> bool:
    """Whether a node is inside a function's body and not inside a raise, an annotation, a docstring or a format."""
    return id(node) in _running(tree)


_CACHE: dict[int, set[int]] = {}


def _running(tree: ast.Module) -> set[int]:
    if id(tree) not in _CACHE:
        _CACHE.clear()
        found: set[int] = set()
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for statement in function.body:
                    _collect(statement, found)
        _CACHE[id(tree)] = found
    return _CACHE[id(tree)]


def _collect(node: ast.AST, found: set[int]) -> None:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    found.add(id(node))
    for name, child in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.AST):
                _collect(part, found)


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
            yield ast.Constant(number + 1)
