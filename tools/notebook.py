"""examples/notebooks/private-model.ipynb with what its cells print: ``python -m tools.notebook [--check]``."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "examples" / "notebooks" / "private-model.ipynb"
FORMAT = {"nbformat": 4, "nbformat_minor": 5}
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def executed(text: str) -> str:
    """The notebook, every code cell run anew and in order."""
    names: dict[str, object] = {}
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        cell |= {"execution_count": number, "outputs": list(_outputs("".join(cell["source"]), number, names))}
    return json.dumps({"cells": cells, "metadata": KERNEL, **FORMAT}, indent=1, ensure_ascii=False) + "\n"


def _outputs(source: str, number: int, names: dict[str, object]) -> list[dict[str, object]]:
    """What a cell prints, then the value of its last line as Jupyter shows it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    value: object = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, object]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {"text/plain": _lines(repr(value))}
        if (html := getattr(value, "_repr_html_", None)) is not None:
            shown = {"text/html": _lines(html()), **shown}
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown}
        outputs.append(result)
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(arguments: list[str]) -> int:
    """Write the notebook; with --check fail if it would change."""
    before = PAGE.read_text("utf-8")
    after = executed(before)
    if "--check" not in arguments:
        PAGE.write_text(after, "utf-8")
    elif after != before:
        sys.stderr.write(f"stale: {PAGE.name}; run python -m tools.notebook\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
