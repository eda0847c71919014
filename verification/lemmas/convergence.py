r"""One iteration's share of Theorem 2, pathwise. [CL20] appendix; statements THEOREM-2, E9, E10, E14, E15, E16.

With g~ the noisy gradient that the iteration used, x*, y any point of comparison, and z+, y+ what follows:

    g~ (x - x*) + y+ (z+ - x*) + y (x+ - z+)
        <= eta/2 g~^2 + ((x-x*)^2 - (x+-x*)^2)/(2 eta) + rho/2 ((z-x*)^2 - (z+-x*)^2) + ((y-y0)^2 - (y-y+)^2)/(2 rho)

holds for every z+, with slack exactly eta/2 (g~ + (x+-x)/eta)^2 + rho/2 (z - x+)^2. Together with y+ being a
subgradient of lambda h at z+ and the convexity of f, summing over k = 0..t-1 and dividing by t gives the theorem for f
at the mean of x^0..x^{t-1}, h at the mean of z^1..z^t, and the residual of the means of x^1..x^t and z^1..z^t.
"""

from __future__ import annotations

import z3

from reference.updates import update_x, update_y, update_z
from verification.lemmas.obligation import Obligation
from verification.lemmas.proximal import convex_separable
from verification.lemmas.terms import only, parameter, square, vector, vector_of


def one_iteration() -> list[Obligation]:
    """The identity behind the inequality: bound less left side is a sum of squares."""
    rho, eta = parameter("rho"), parameter("eta")
    g, x, z, y0 = (vector(name) for name in ("g", "x", "z", "y0"))
    best, multiplier, z_next = z3.Reals("best multiplier z_next")
    x_next = update_x(g, x, z, y0, rho=rho, eta=eta)
    y_next = only(update_y(y0, x_next, vector_of(z_next), rho=rho))
    noisy, old, new = only(g), only(x), only(x_next)
    left = noisy * (old - best) + y_next * (z_next - best) + multiplier * (new - z_next)
    right = (
        eta / 2 * square(noisy)
        + (square(old - best) - square(new - best)) / (2 * eta)
        + rho / 2 * (square(only(z) - best) - square(z_next - best))
        + (square(multiplier - only(y0)) - square(multiplier - y_next)) / (2 * rho)
    )
    slack = eta / 2 * square(noisy + (new - old) / eta) + rho / 2 * square(only(z) - new)
    positive = (rho > 0, eta > 0)
    return [Obligation("one iteration of Theorem 2", positive, right - left == slack, right == left)]


def subgradients() -> list[Obligation]:
    """y+ is a subgradient of lambda h at z+: lambda h(v) >= lambda h(z+) + y+ (v - z+) for every v."""
    rho, x, y, v = parameter("rho"), vector("x"), vector("y"), vector("v")
    result = []
    for regularizer, domain in convex_separable():
        z = update_z(x, y, rho=rho, regularizer=regularizer)
        y_next = only(update_y(y, x, z, rho=rho))
        tangent = only(regularizer.value(z)) + y_next * (only(v) - only(z))
        value = only(regularizer.value(v))
        name = f"the dual is a subgradient of {regularizer.name}"
        result.append(Obligation(name, (rho > 0, *domain), value >= tangent, value > tangent))
    return result
