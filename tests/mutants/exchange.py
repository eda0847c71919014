"""Put a mutant in the place of a loaded module's functions, so that everybody who imported them sees it."""

from __future__ import annotations

import ast
import functools
import sys
from types import CodeType, FunctionType, ModuleType


def exchange(module: ModuleType, tree: ast.Module) -> set[str]:
    """Give the functions and methods of a loaded module the code of a mutated one; their qualified names."""
    codes = code_of(tree, str(module.__file__))
    exchanged: set[str] = set()
    for function in functions_of(module):
        new = codes.get(function.__qualname__)
        if new is not None and len(new.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = new
            exchanged.add(function.__qualname__)
    forget_results(module.__name__.partition(".")[0])
    return exchanged


def forget_results(package: str) -> None:
    """Empty the caches of a package: what a function returned before it was exchanged must not answer for it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def code_of(tree: ast.Module, name: str) -> dict[str, CodeType]:
    """The code of every function of a module, by qualified name."""
    found: dict[str, CodeType] = {}

    def walk(code: CodeType) -> None:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                found[constant.co_qualname] = constant
                walk(constant)

    walk(compile(tree, name, "exec"))
    return found


def functions_of(module: ModuleType) -> list[FunctionType]:
    """Functions, methods, and what properties and caches call."""
    found: list[FunctionType] = []
    for value in vars(module).values():
        own = isinstance(value, type) and value.__module__ == module.__name__
        for member in list(vars(value).values()) if own else [value]:
            inner = function_behind(member)
            if inner is not None and inner.__module__ == module.__name__:
                found.append(inner)
    return found


def function_behind(member: object) -> FunctionType | None:
    """The function that a property, a static or class method or a cache calls, if it is one of these."""
    match member:
        case FunctionType():
            return member
        case property():
            return function_behind(member.fget)
        case staticmethod() | classmethod():
            return function_behind(member.__func__)
        case functools.cached_property():
            return function_behind(member.func)
        case _:
            wrapped = vars(member).get("__wrapped__") if hasattr(member, "__dict__") else None
            return None if wrapped is None else function_behind(wrapped)
