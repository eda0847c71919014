"""`dpadmm.declaring` under a name that no code under test has: import this where that code has modules of our names.

A folder with a module ``dpadmm`` or ``verification`` of its own hides ours, and ours would hide its. Here ours are
imported from where they are installed, and then leave those names to whoever imports them next.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

_NAMES = {"reference", "accountant", "verification", "audits", "dpadmm"}


def _taken_out() -> dict[str, ModuleType]:
    """All imported modules of these names, which are then imported no more."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in _NAMES}


_theirs = _taken_out()
sys.path.insert(0, str(Path(__file__).parents[1]))
try:
    _declaring = importlib.import_module("dpadmm.declaring")
finally:
    sys.path.pop(0)
    _ours = _taken_out()
    sys.modules.update(_theirs)

DeclaredRun, Records = _declaring.DeclaredRun, _declaring.Records
drawn, noise, observe = _declaring.drawn, _declaring.noise, _declaring.observe
serve_declared, serve_observed = _declaring.serve_declared, _declaring.serve_observed
serve_function = _declaring.serve_function
