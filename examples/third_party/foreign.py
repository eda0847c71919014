"""Other people's sources: where they are, and interpreters of other languages that run them.

The folder of a repository is ``$DPADMM_THIRD_PARTY/owner+name``, at the commit of docs/evidence/board.json.
`Interpreter` keeps one Octave, R or Node process; `ask` runs a piece of its code and returns the numbers that the
code shows.
"""

import ast
import json
import os
import subprocess
from pathlib import Path

import numpy as np

_NODE = """
globalThis.show = (...parts) => console.log('#', ...parts.flat(Infinity).map(x => x.toString()));
const lines = require('readline').createInterface({input: process.stdin});
const Run = Object.getPrototypeOf(async () => {}).constructor;
(async () => { for await (const line of lines) {
  try { await new Run(JSON.parse(line))(); console.log('<end>'); } catch (e) { console.log('<failed>', String(e)); }
} })();
"""
_SHOW = {
    "octave": "function show(varargin)\n"
    "for k = 1:nargin\nprintf('# %s\\n', sprintf('%.17g ', varargin{k}))\nend\nend\n",
    "r": "show_numbers <- function(...) cat('#', sprintf('%.17g', c(...)), '\\n')\n",
    "node": "",
}
_COMMAND = {
    "octave": ["octave-cli", "--quiet", "--no-history", "--no-init-file"],
    "r": ["R", "--vanilla", "--no-echo"],
    "node": ["node", "-e", _NODE],
}


def source(repository, path=""):
    """A file or folder of a repository that the reader fetched."""
    folder = Path(os.environ.get("DPADMM_THIRD_PARTY", "third-party")) / repository.replace("/", "+")
    if not (folder / path).exists():
        raise SystemExit(f"{folder / path} is not there: fetch {repository} at its commit (docs/evidence/board.md)")
    return folder / path


def functions(path, names, given, mend=str):
    """The named functions and classes of a Python file (None: all of it), without the rest; ``given`` is what they use.

    ``mend`` makes Python 3 of the text where it is older.
    """
    tree = ast.parse(mend(path.read_text(encoding="utf-8")))
    if names is not None:
        tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
    space = dict(given)
    exec(compile(tree, str(path), "exec"), space)
    return space


class Interpreter:
    """One process of another language."""

    def __init__(self, language, start=""):
        self._language = language
        self._process = subprocess.Popen(_COMMAND[language], stdin=-1, stdout=-1, text=True, bufsize=1)
        self.ask(_SHOW[language] + start)

    def ask(self, code):
        """Run code; the numbers that it shows, one array for each line."""
        wrapped = {
            "octave": lambda: f"try\n{code}\nprintf('<end>\\n')\ncatch e\nprintf('<failed> %s\\n', e.message)\nend\n",
            "r": lambda: (
                f"tryCatch({{\n{code}\ncat('<end>\\n') }}, error = function(e) cat('<failed>', e$message, '\\n'))\n"
            ),
            "node": lambda: json.dumps(code) + "\n",
        }[self._language]()
        self._process.stdin.write(wrapped)
        self._process.stdin.flush()
        shown = []
        for line in self._process.stdout:
            if line.startswith("<failed>"):
                raise RuntimeError(line)
            if line.startswith("<end>"):
                return shown
            if line.startswith("#"):
                shown.append(np.array([float(word) for word in line[1:].split()]))
        raise RuntimeError("the interpreter ended")


def matrix(rows):
    """A matrix as Octave writes it."""
    return "[" + ";".join(" ".join(repr(float(x)) for x in np.atleast_1d(row)) for row in rows) + "]"
