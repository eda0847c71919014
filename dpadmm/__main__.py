"""``python -m dpadmm``: the command line."""

from dpadmm.cli import main

main()
