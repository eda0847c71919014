"""The adapter of the demo: the reference, or one that passes the variance where a deviation is expected."""

from __future__ import annotations

import sys

from dpadmm.own_packages import prefer_own

if __name__ == "__main__":
    prefer_own()  # it runs in the user's folder

from dpadmm.demo import WRONG
from verification.served.loopback import Loopback
from verification.served.serve import serve
from verification.served.stepwise import StepwiseBaselines
from verification.wire.arrays import Floats


class VarianceAsDeviation(StepwiseBaselines):
    """The reference with one mistake, in one line."""

    name = "variance as deviation"

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """The generator wants a standard deviation, and gets a variance: too little noise where sigma < 1."""
        return super().scale_noise(standard, sigma**2)


if __name__ == "__main__":
    serve(VarianceAsDeviation() if WRONG in sys.argv[1:] else Loopback())
