"""`dpadmm calibrate`: the least noise, the most releases, the largest batch for a privacy target."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import TypedDict, Unpack

import click

from accountant.calibration import calibrate_count, calibrate_noise
from accountant.errors import InvalidQuantityError
from accountant.mechanisms.algorithms import Accounting, Release, Sensitivity, gradient_noise_multiplier, mpadmm, ssadmm
from accountant.mechanisms.baselines import admm_objp, dp_admm, dp_svrg, gaussian_releases
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import Noise, Sampling, positive
from accountant.numbers import decimal_string
from accountant.pricing import THEOREMS
from dpadmm.cli import _accounting as shared
from dpadmm.cli._calibrated import show
from dpadmm.cli.common import format_option

HELP = """The least noise (or most iterations, or largest batch) that meets a target (epsilon, delta).

Answers are safe: rounded to the private side, then priced and certified. They say how far from tight they are:
the nearest value that was priced and did not meet the target.

\b
dpadmm calibrate ssadmm --records 48842 --batch 221 \\
    --iterations 2210 --epsilon 1 --delta 1e-8
dpadmm calibrate ssadmm --records 48842 --batch 221 \\
    --noise-multiplier 4 --for iterations --epsilon 1 --delta 1e-8
"""


FIXED_SIGMA = (
    "at a fixed sigma a larger batch has a larger noise multiplier, and the cost is not proved to grow with the batch: "
    "this batch meets the target, and of the larger ones only a few were tried"
)


class Goal(TypedDict):
    """What every mechanism's command takes besides its own parameters."""

    epsilon: str
    delta: str
    method: str | None
    digits: int
    output_format: str


goal_options = shared.combined(
    shared.real_option("--epsilon", required=True, explain="The target epsilon, > 0."),
    shared.delta_option,
    click.option(
        "--method", type=click.Choice(list(THEOREMS)), help="The method that decides; default: the tightest proved one."
    ),
    click.option("--digits", type=click.IntRange(1, 12), default=4, show_default=True, help="Digits of the noise."),
    format_option,
)
clip_option = shared.real_option("--clip", required=True, explain="C, the bound on every record's gradient.")


def quantity_option(*choices: str) -> Callable[[shared.Command], shared.Command]:
    """Return the option that says what to find."""
    return click.option(
        "--for", "quantity", type=click.Choice(choices), default=choices[0], show_default=True, help="What to find."
    )


@click.group("calibrate", help=HELP)
def command() -> None:
    """Group the mechanisms."""


@command.command("ssadmm", short_help="Algorithm 1: noisy gradients on fresh batches.")
@shared.combined(
    shared.records_option,
    shared.whole_option("--batch", required=False, explain="m; not with --for batch."),
    shared.whole_option("--iterations", required=False, explain="T; not with --for iterations."),
    shared.real_option("--noise-multiplier", explain="nu = sigma m/(2C); not with --for noise."),
    shared.real_option("--sigma", explain="Standard deviation of the noise, with --clip."),
    shared.real_option("--clip", explain="C; with it, --for noise also answers in sigma."),
    quantity_option("noise", "iterations", "batch"),
    shared.sampling_option,
    shared.noise_option,
    goal_options,
)
def ssadmm_command(
    *,
    records: int,
    batch: int | None,
    iterations: int | None,
    noise_multiplier: str | None,
    sigma: str | None,
    clip: str | None,
    quantity: str,
    sampling: str,
    noise: str,
    **goal: Unpack[Goal],
) -> None:
    """Algorithm 1: the least noise multiplier, the most iterations, or the largest batch."""

    def ledger(m: int, T: int, nu: Fraction) -> Ledger:
        scheme, kind = Sampling(sampling), Noise(noise)
        return ssadmm(records=records, batch=m, iterations=T, noise_multiplier=nu, sampling=scheme, noise=kind)

    if quantity == "noise":
        _refuse(quantity, noise_multiplier=noise_multiplier, sigma=sigma)
        m, T = _given("--batch", batch), _given("--iterations", iterations)
        per_multiplier = None if clip is None else 2 * positive("clip", clip) / m
        _noise(lambda nu: ledger(m, T, nu), "noise_multiplier", goal, sigma_per_unit=per_multiplier)
    elif quantity == "iterations":
        _refuse(quantity, iterations=iterations)
        m = _given("--batch", batch)
        nu = gradient_noise_multiplier(m, noise_multiplier, sigma, clip)
        _count(lambda T: ledger(m, T, nu), "iterations", goal)
    else:
        _refuse(quantity, batch=batch)
        T = _given("--iterations", iterations)
        gradient_noise_multiplier(1, noise_multiplier, sigma, clip)  # refuses what contradicts itself

        def with_batch(m: int) -> Ledger:
            made = ledger(m, T, gradient_noise_multiplier(m, noise_multiplier, sigma, clip))
            return made if sigma is None else dataclasses.replace(made, notes=(*made.notes, FIXED_SIGMA))

        _count(with_batch, "batch", goal, largest=records, increasing=sigma is None)


command.add_command(
    click.Command(
        "dp-sgd",
        callback=ssadmm_command.callback,
        params=ssadmm_command.params,
        help="Proximal DP-SGD: the same as ssadmm.",
    )
)


@command.command("mpadmm", short_help="Algorithm 2: noisy x, z, y after every epoch.")
@shared.combined(
    shared.records_option,
    shared.whole_option("--epochs", required=False, explain="T; not with --for epochs."),
    clip_option,
    shared.real_option("--sigma", explain="Standard deviation of the noise, with --for epochs."),
    quantity_option("noise", "epochs"),
    shared.mpadmm_shape_options,
    goal_options,
)
def mpadmm_command(
    *,
    records: int,
    epochs: int | None,
    clip: str,
    sigma: str | None,
    quantity: str,
    rho: str,
    eta: tuple[str, ...],
    release: str,
    sensitivity: str,
    accounting: str | None,
    regularizer: str,
    shape: str | None,
    noise: str,
    **goal: Unpack[Goal],
) -> None:
    """Algorithm 2: the least sigma, or the most epochs (with a constant step size)."""
    proximal = shared.proximal_of(regularizer, shape, rho, release)

    def ledger(T: int, spread: Fraction) -> Ledger:
        return mpadmm(
            records=records,
            eta=shared.one_or_many(eta),
            rho=rho,
            clip=clip,
            sigma=spread,
            epochs=T,
            release=Release(release),
            sensitivity=Sensitivity(sensitivity),
            accounting=None if accounting is None else Accounting(accounting),
            proximal=proximal,
            noise=Noise(noise),
        )

    if quantity == "noise":
        _refuse(quantity, sigma=sigma)
        T = _given("--epochs", epochs)
        _noise(lambda spread: ledger(T, spread), "sigma", goal)
        return
    _refuse(quantity, epochs=epochs)
    if sigma is None:
        raise InvalidQuantityError("--for epochs needs --sigma")
    spread = positive("sigma", sigma)
    _count(lambda T: ledger(T, spread), "epochs", goal)


@command.command("dp-admm", short_help="DP-ADMM: noisy x_i from full local gradients.")
@shared.combined(
    shared.records_option,
    shared.whole_option("--parties", default=2, required=False, explain="Equal parties that share the records."),
    shared.iterations_option,
    shared.rho_option,
    shared.eta_option,
    clip_option,
    goal_options,
)
def dp_admm_command(
    *, records: int, parties: int, iterations: int, rho: str, eta: tuple[str, ...], clip: str, **goal: Unpack[Goal]
) -> None:
    """DP-ADMM: the least sigma."""
    steps = shared.one_or_many(eta)

    def ledger(spread: Fraction) -> Ledger:
        return dp_admm(
            records=records, eta=steps, rho=rho, clip=clip, sigma=spread, iterations=iterations, parties=parties
        )

    _noise(ledger, "sigma", goal)


@command.command("admm-objp", short_help="ADMM-objP: pure DP each iteration.")
@shared.combined(shared.iterations_option, goal_options)
def admm_objp_command(*, iterations: int, **goal: Unpack[Goal]) -> None:
    """ADMM-objP: the largest epsilon_k of an iteration."""
    found = calibrate_noise(
        lambda noise: admm_objp(epsilon=1 / noise, iterations=iterations),
        epsilon=goal["epsilon"],
        delta=goal["delta"],
        method=goal["method"],
        digits=goal["digits"],
    )
    # Rounded down: a smaller epsilon_k than the one that was certified.
    spent = Fraction(decimal_string(1 / found.value, goal["digits"] + 1, "down"))
    missed = None if found.missed is None else Fraction(decimal_string(1 / found.missed, goal["digits"] + 1, "up"))
    answer = dataclasses.replace(
        found, value=spent, missed=missed, ledger=admm_objp(epsilon=spent, iterations=iterations)
    )
    show(
        answer,
        "epsilon_per_iteration",
        target=goal["epsilon"],
        delta=goal["delta"],
        output_format=goal["output_format"],
    )


@command.command("dp-svrg", short_help="DP-SVRG (our variant): both noise multipliers alike.")
@shared.combined(
    shared.records_option,
    shared.batch_option,
    shared.epochs_option,
    shared.whole_option("--inner", explain="Inner iterations of an epoch."),
    clip_option,
    goal_options,
)
def dp_svrg_command(*, records: int, batch: int, epochs: int, inner: int, clip: str, **goal: Unpack[Goal]) -> None:
    """DP-SVRG: the least common noise multiplier nu, sigma_full = nu 2C/n and sigma_inner = nu 4C/m."""
    C = positive("clip", clip)

    def ledger(nu: Fraction) -> Ledger:
        return dp_svrg(
            records=records,
            batch=batch,
            epochs=epochs,
            inner=inner,
            sigma_full=nu * 2 * C / records,
            sigma_inner=nu * 4 * C / batch,
            clip=C,
        )

    _noise(ledger, "noise_multiplier", goal)


@command.command("gaussian", short_help="Plain Gaussian releases: exact.")
@shared.combined(
    shared.whole_option("--releases", default=1, required=False, explain="How many adaptive releases."), goal_options
)
def gaussian_command(*, releases: int, **goal: Unpack[Goal]) -> None:
    """Plain Gaussian releases: the least sigma over sensitivity."""
    _noise(lambda nu: gaussian_releases(noise_multiplier=nu, releases=releases), "noise_multiplier", goal)


def _noise(
    ledger_of: Callable[[Fraction], Ledger], quantity: str, goal: Goal, *, sigma_per_unit: Fraction | None = None
) -> None:
    shared.progress(f"searching {quantity}")
    found = calibrate_noise(
        ledger_of, epsilon=goal["epsilon"], delta=goal["delta"], method=goal["method"], digits=goal["digits"]
    )
    sigma = None if sigma_per_unit is None else found.value * sigma_per_unit
    show(found, quantity, target=goal["epsilon"], delta=goal["delta"], output_format=goal["output_format"], sigma=sigma)


def _count(
    ledger_of: Callable[[int], Ledger], quantity: str, goal: Goal, *, largest: int = 10**9, increasing: bool = True
) -> None:
    shared.progress(f"searching {quantity}")
    found = calibrate_count(
        ledger_of,
        epsilon=goal["epsilon"],
        delta=goal["delta"],
        method=goal["method"],
        largest=largest,
        increasing=increasing,
    )
    show(found, quantity, target=goal["epsilon"], delta=goal["delta"], output_format=goal["output_format"])


def _refuse(quantity: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InvalidQuantityError(f"--for {quantity} and --{name.replace('_', '-')} contradict each other here")


def _given(name: str, value: int | None) -> int:
    if value is None:
        raise InvalidQuantityError(f"{name} is needed here")
    return value
