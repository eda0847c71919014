"""An adapter of one stranger's declaration: ``python -m tests.frozen.stranger NAME``."""

from __future__ import annotations

import sys

from dpadmm.declaring import serve_declared
from tests.zoo.declared.strangers import HONEST, WRONG

if __name__ == "__main__":
    one = {**HONEST, **WRONG}[sys.argv[1]]
    serve_declared("stranger", one.declare, one.run)
