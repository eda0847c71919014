"""Which games to play against an implementation, given what it says it can do and what is claimed of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.mechanism import BoundedGradients
from accountant.mechanisms.words import Algorithm, Release, Sensitivity, Visibility
from audits.curves import GaussianCurve
from audits.eprocess.scores import Simulator, StepwiseScores
from audits.errors import AuditError, NothingClaimed, NothingToAudit
from audits.games.game import (
    Attack,
    Game,
    LaplaceMidpoints,
    LikelihoodRatio,
    Midpoint,
    Subject,
    along_the_difference,
    curve_of,
)
from reference.regularizers import Regularizer as ReferenceRegularizer
from verification.neighbours.families import DIMENSION, SMALL_STEP, WorstCase, opposite
from verification.neighbours.neighbours import OWN, Neighbours
from verification.questions.sensitivity import hard_pair
from verification.reading.context import Context
from verification.reading.values import noise_of
from verification.served.stepwise import Stepwise
from verification.served.translate import (
    anchor_sensitivities,
    anchor_sigmas,
    noise_scales,
    perturbation_of,
    regularizer_of,
    sensitivities,
    sigmas,
)
from verification.wire.messages import EPSILON, Capability, parameters_for
from verification.wire.parameters import NON_PRIVATE, LossName, Parameters, RegularizerName
from verification.wire.records import Run
from verification.wire.session import Session

TARGET_MU = 2.0
BOUND = 0.5
RHO = 0.5
MANY = 8
LOUD = 30.0
STIFF = 20.0
COPIES = (1, 64, 1024)
"""How many times the records are tried, in this order, by an implementation that refuses small data."""
# the printed mpADMM sensitivity is violated only beyond 1 (erratum E1)
LARGE_STEP = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A game with its score and the simulator of its scores (strength = noise divisor; the claim's own is 1).

    ``attained`` is what share of the claim the pair shows: nothing below noise/(1/attained) can be seen in any number
    of runs. ``demanded`` is whether the power that a gate asks for is asked of this game.
    """

    game: Game
    simulate: Simulator
    attack: Attack
    attained: float = 1.0
    demanded: bool = True


def sees_every_iterate(subject: Subject, session: Session) -> bool:
    """Whether every iterate is claimed to be released, and the implementation shows it in full."""
    context = Context(session, subject.mode, np.random.default_rng(0), _no_session)
    return context.sees_every_iterate and subject.visibility is Visibility.EVERY_ITERATE


def standard_games(session: Session, subject: Subject, copies: int = 1) -> list[Planned]:
    """Return the games for a subject, hardest neighbours in each; raises if the implementation offers none.

    ``copies``: every record so many times, for an implementation that refuses small data; the name then says so.

    ssADMM and DP-SGD: every record in every batch, and batches of a quarter. mpADMM and DP-ADMM: a step far above 1 and
    several small ones. DP-SVRG: full gradients. ADMM-objP: one perturbed objective in one dimension. Where only the
    last model is shown, single steps, and (except of DP-ADMM, whose model is a party's) the end of many small ones.
    """
    if subject.algorithm not in session.description.algorithms:
        offered = ", ".join(session.description.algorithms)
        raise NothingToAudit(f"the claim is about {subject.algorithm}, the implementation offers {offered}")
    if not session.can(Capability.TRIALS):
        raise NothingToAudit("an audit needs the capability trials, which the implementation does not declare")
    if subject.release is Release.PRIMAL and not session.can(Capability.PRIMAL):
        raise NothingToAudit("the claim is about release primal, which the implementation does not declare")
    if subject.algorithm in NON_PRIVATE:
        raise NothingClaimed(f"{subject.algorithm} adds no noise: no privacy is there, and none to refute")
    planner = _Planner(session, subject, copies)
    if subject.algorithm is Algorithm.OBJP:
        return [planner.objective("one perturbed objective")]
    if subject.algorithm is Algorithm.DPSVRG:
        return [planner.full_gradients("full gradients", records=4, epochs=2)]
    steps = 3 if planner.sees_every_iterate else 1
    # first, for the single steps of mpADMM that show x alone take long and see little
    scored = not planner.sees_every_iterate and subject.algorithm is not Algorithm.DPADMM
    last = [] if not scored else [planner.last_of_many("last of many steps", records=4, steps=MANY)]
    if subject.algorithm in (Algorithm.SSADMM, Algorithm.DPSGD):
        return [
            *last,
            planner.game("every record in every batch", records=4, batch=4, eta=[SMALL_STEP] * steps),
            # of epochs an order that nobody knows is worth nothing: every record in every batch is the whole claim
            *(
                [planner.game("batches of a quarter", records=12, batch=3, eta=[SMALL_STEP] * steps)]
                if subject.sampling is None
                else []
            ),
        ]
    games = [planner.game("one step above 1", records=4, batch=None, eta=[LARGE_STEP])]
    if subject.sensitivity is Sensitivity.CORRECTED:
        # the printed sensitivity is loose by 1/eta below 1: there it promises next to nothing, and nothing can be bet
        games = [*last, *games, planner.game("small steps", records=4, batch=None, eta=[SMALL_STEP] * steps)]
    return games


def batch_game(session: Session, *, records: int, batch: int, steps: int, multiplier: float) -> Planned:
    """Return a game of ssADMM of any size: every iterate shown, noise ``multiplier`` times the sensitivity 2C/m."""
    planner = _Planner(session, Subject(Algorithm.SSADMM))
    if not planner.sees_every_iterate:
        raise NothingToAudit("a game of several steps needs every iterate, which the implementation does not show")
    name = f"{steps} steps on batches of {batch} of {records}"
    return planner.game(name, records=records, batch=batch, eta=[SMALL_STEP] * steps, multiplier=multiplier)


class _Planner:
    def __init__(self, session: Session, subject: Subject, copies: int = 1) -> None:
        self._subject = subject
        self._copies = copies
        self._context = Context(session, subject.mode, np.random.default_rng(0), _no_session)
        self.sees_every_iterate = sees_every_iterate(subject, session)

    def _copied(self, name: str) -> str:
        return name if self._copies == 1 else f"{name}, {self._copies} times the records"

    def game(
        self, name: str, *, records: int, batch: int | None, eta: list[float], multiplier: float | None = None
    ) -> Planned:
        """The hardest pair, with noise for about TARGET_MU, or ``multiplier`` times the sensitivity of a step."""
        steps = eta if self.sees_every_iterate else eta[:1]
        name, records, batch = self._copied(name), records * self._copies, batch and batch * self._copies
        pair = hard_pair(self._context, records, BOUND)
        rate = 1.0 if batch is None else batch / records
        # with batches the record takes part in few steps, and half the mu shows a violation better
        mu = TARGET_MU if rate == 1.0 else TARGET_MU * math.sqrt(len(steps))
        parameters = self._parameters(pair, records, batch, steps, sigma=1.0)
        moved = sensitivities(self._subject.algorithm, parameters, records)
        sigma = float(np.linalg.norm(moved)) / mu if multiplier is None else multiplier * float(moved[0])
        parameters = self._parameters(pair, records, batch, steps, sigma)
        seen = Visibility.EVERY_ITERATE if self.sees_every_iterate else Visibility.ONE_STEP
        game = Game(name, self._subject.algorithm, parameters, pair.first, pair.second, seen)
        attained = pair.attained * self._attained_jointly(game)
        return Planned(game, StepwiseScores(rate, self._multipliers(game, pair)), LikelihoodRatio(), attained)

    def last_of_many(self, name: str, *, records: int, steps: int) -> Planned:
        """The end of several small steps: an honest last model holds all of their noise, and all of the influence."""
        name, records = self._copied(name), records * self._copies
        pair, eta = hard_pair(self._context, records, BOUND), [SMALL_STEP] * steps
        parameters = self._parameters(pair, records, records, eta, sigma=1.0)
        moved = float(np.linalg.norm(sensitivities(self._subject.algorithm, parameters, records)))
        parameters = self._parameters(pair, records, records, eta, sigma=moved / TARGET_MU)
        game = Game(name, self._subject.algorithm, parameters, pair.first, pair.second, Visibility.LAST_MODEL)
        score = along_the_difference(game)
        attained = min(1.0, 1.0 / (score.nu * TARGET_MU))
        # where z and y are shown beside it, single steps attain the whole claim, and they are asked for the power
        demanded = self._attained_jointly(game) < 1.0 or self._subject.release is not Release.ALL
        return Planned(game, score.simulator(), score, attained, demanded)

    def full_gradients(self, name: str, *, records: int, epochs: int) -> Planned:
        """DP-SVRG's full gradients, whose sensitivity the pair attains, behind steps that say next to nothing.

        The steps are priced at twice what margin losses attain (statement DPSVRG-MARGIN), so that a claim about them is
        too loose to bet on; their noise is looked at by conformance.
        """
        if not self.sees_every_iterate or "full_gradient" not in self._context.description.released[Algorithm.DPSVRG]:
            raise NothingToAudit("needs every iterate and the noisy full gradient, which the claim covers, released")
        name, records = self._copied(name), records * self._copies
        pair = hard_pair(self._context, records, BOUND)
        # steps so small that their loud noise leaves x where the gradients of the pair are constant
        unit = self._parameters(pair, records, records, [SMALL_STEP / LOUD] * (2 * epochs), sigma=1.0)
        moved = anchor_sensitivities(unit, records)
        noise = {
            "anchor_sigma": float(np.linalg.norm(moved)) / TARGET_MU,
            "sigma": LOUD * float(sensitivities(Algorithm.DPSVRG, unit, records)[0]),
        }
        parameters = unit.model_copy(update=noise)
        game = Game(name, Algorithm.DPSVRG, parameters, pair.first, pair.second, Visibility.EVERY_ITERATE)
        multipliers = anchor_sigmas(parameters, records) / (moved * pair.attained)
        return Planned(game, StepwiseScores(1.0, tuple(multipliers.tolist())), LikelihoodRatio())

    def objective(self, name: str, *, records: int = 4) -> Planned:
        """One iteration of ADMM-objP in one dimension: b is Laplace, and opposite hinges attain 2C."""
        if LossName.HUBER not in self._context.description.losses:
            raise NothingToAudit(
                "in one dimension only the huberized hinge attains what objp claims; it is not offered"
            )
        name, records = self._copied(name), records * self._copies
        pair = opposite(records, np.array([2.0 * BOUND]), np.array([-2.0 * BOUND]))
        parameters = parameters_for(
            self._context.description,
            Algorithm.OBJP,
            1,
            eta=[1.0],
            bound=BOUND,
            # so large that the Jacobians cost little of epsilon, and that x stays where the hinge has slope -1
            rho=STIFF,
            loss=LossName.HUBER,
            regularizer=self._context.plain,
            epsilon=TARGET_MU,
        )
        seen = Visibility.EVERY_ITERATE if self.sees_every_iterate else Visibility.ONE_STEP
        game = Game(name, Algorithm.OBJP, parameters, pair.first, pair.second, seen)
        return Planned(game, LaplaceMidpoints(perturbation_of(parameters, records).noise_epsilon), Midpoint())

    def _parameters(
        self, pair: WorstCase, records: int, batch: int | None, eta: list[float], sigma: float
    ) -> Parameters:
        regularizers = self._context.description.regularizers
        return parameters_for(
            self._context.description,
            self._subject.algorithm,
            DIMENSION,
            eta=eta,
            batch=batch if batch is not None else records,
            sampling=self._subject.sampling,
            sigma=sigma,
            bound=BOUND,
            rho=RHO,
            # without a penalty z follows x fully, one of the two ends at which the joint sensitivity is attained
            lambda_=0.0,
            loss=pair.loss,
            regularizer=RegularizerName.NONE if RegularizerName.NONE in regularizers else regularizers[0],
            release=self._subject.release or Release.ALL,
            initial=pair.initial,
            normalise=pair.normalise is not None,
        )

    def _multipliers(self, game: Game, pair: WorstCase) -> tuple[float, ...]:
        """The noise over what this pair moves, step by step: for designs and power, not for the claim."""
        moved = sensitivities(game.algorithm, game.parameters, game.records) * pair.attained
        moved = moved * self._attained_jointly(game)
        noise = sigmas(game.algorithm, game.parameters, game.records)
        return tuple((noise / moved).tolist())

    def _attained_jointly(self, game: Game) -> float:
        """What share of the joint sensitivity shows: all of it if z and y do, else that of the released values."""
        if game.parameters.release is not Release.ALL:
            return 1.0
        released = set(self._context.description.released[game.algorithm])
        regularizer: ReferenceRegularizer = regularizer_of(game.parameters)
        if not regularizer.convex or game.parameters.lambda_ != 0.0:
            raise AuditError("games are planned without a penalty")
        shown = 1.0 + ("z" in released)
        return math.sqrt(shown / (1.0 + max(1.0, RHO**2)))


def _no_session() -> Session:
    raise AssertionError("planning a game needs no second session")


_OWN_STEP, _OWN_STEPS = 0.5, 3
_OWN_RUNS = 100
_PLAYED = (Algorithm.SSADMM, Algorithm.MPADMM, Algorithm.DPSGD)


def least_bound(mechanisms: Iterable[object]) -> float:
    """The least bound on a record's gradient that is claimed: the one at which a pair is looked at."""
    bounded = (each for each in mechanisms if isinstance(each, BoundedGradients))
    return min((float(each.bound) for each in bounded if each.bound is not None), default=BOUND)


def own_pair_game(session: Session, subject: Subject, pair: Neighbours, bound: float = BOUND) -> Planned:
    """Return the game: every record in every batch, three ordinary steps from 0, or one if only the last is shown."""
    if subject.algorithm not in _PLAYED:
        raise NothingToAudit(f"{OWN} is played for {', '.join(_PLAYED)}, not for {subject.algorithm}")
    if subject.algorithm not in session.description.algorithms or not session.can(Capability.TRIALS):
        raise NothingToAudit(f"the implementation offers no trials of {subject.algorithm}")
    every = sees_every_iterate(subject, session)
    eta = [_OWN_STEP] * (_OWN_STEPS if every else 1)
    size = (pair.first.count, pair.columns)
    unit = ordinary_parameters(session, subject, size, eta, 1.0, bound=bound)
    moved = float(np.linalg.norm(sensitivities(subject.algorithm, unit, pair.first.count)))
    parameters = ordinary_parameters(session, subject, size, eta, moved / TARGET_MU, bound=bound)
    seen = Visibility.EVERY_ITERATE if every else Visibility.ONE_STEP
    game = Game(OWN, subject.algorithm, parameters, pair.first, pair.second, seen, alike=False)
    claim = curve_of(subject.ledger(game.records, parameters))
    claimed = claim.mu if isinstance(claim, GaussianCurve) else TARGET_MU
    shown = session.description.released[subject.algorithm]
    mu = _distance(game, shown)
    if mu == 0.0:
        raise NothingToAudit("the two records have the same gradient after bounding: no test can distinguish them")
    return Planned(game, StepwiseScores(1.0, (1.0 / mu,)), LikelihoodRatio(), attained=mu / claimed, demanded=False)


def ordinary_parameters(
    session: Session,
    subject: Subject,
    size: tuple[int, int],
    eta: list[float],
    sigma: float,
    *,
    bound: float = BOUND,
    epsilon: float = EPSILON,
) -> Parameters:
    """Every one of so many records in every batch, in the implementation's own terms; ``size`` is [n, p]."""
    return parameters_for(
        session.description,
        subject.algorithm,
        size[1],
        eta=eta,
        batch=size[0],
        sigma=sigma,
        bound=bound,
        rho=RHO,
        release=subject.release or Release.ALL,
        epsilon=epsilon,
    )


def _distance(game: Game, shown: list[str]) -> float:
    """How far apart the pair is in runs of the reference, as a mu: the root of the mean of sum |D_k|^2/sigma_k^2."""
    values = Stepwise().trials(game.first, game.algorithm, game.parameters, _OWN_RUNS, 0)
    run = Run({name: array for name, array in values.items() if name in shown})
    scales = noise_scales(game.algorithm, game.parameters, game.records)
    near, far = (noise_of(game.algorithm, side, game.parameters, run) for side in (game.first, game.second))
    apart = [((near[name] - far[name]) ** 2).sum(axis=2) / scales[name] ** 2 for name in near]
    return math.sqrt(float(sum(part.sum(axis=1).mean() for part in apart)))
