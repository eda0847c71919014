r"""dp_accounting's DpEvents, read and written: what an event means here, and what is refused.

An event is a tree of plain JSON values: `class_name` and the fields of that class of `dp_accounting`, by their names,
reals as decimal strings. `event_of_object` makes one of a `dp_accounting` object, `object_of_event` the other way;
only these two need that package.

**Neighbours.** A `GaussianDpEvent` or `LaplaceDpEvent` states noise over the largest norm C of *one record's* value.
Adding or removing a record moves a sum by C, replacing one by 2C: the same event costs more under replace-one. An event
does not say which is meant (there it is an argument of the accountant), so the relation is always given beside it.

| event | add-or-remove | replace-one |
|---|---|---|
| Gaussian, nu | a release with noise multiplier nu | nu/2 |
| Laplace, nu | pure, 1/nu | pure, 2/nu |
| PoissonSampled(p, Gaussian nu) | Poisson batches, nu | refused: no theorem here |
| SampledWithoutReplacement(n, m, Gaussian nu) | refused: n of which data set? | fixed-size batches, nu/2 |
| SelfComposed, Composed | adaptive composition | the same |
| NoOp | nothing | nothing |

Everything else is refused by name. What is written costs at least as much as the ledger: a noise multiplier that is no
short decimal is rounded down.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

from accountant.errors import InvalidQuantityError, NotPrivateError, UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import count, positive
from accountant.mechanisms.steps import GaussianStep, LaplaceStep, PoissonGaussianStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Neighbours, Noise
from accountant.numbers import decimal_string
from accountant.pld.ledger_steps import root

FORMAT: Final = "dpadmm-dp-event"
VERSION: Final = 1
MODULE: Final = "dp_accounting.dp_event"
DEEPEST: Final = 50
DIGITS: Final = 17
"""Of a noise multiplier that is written down: what binary64 tells apart."""
Event = Mapping[str, object]


def ledger_of_event(event: Event, neighbours: Neighbours) -> Ledger:
    """Return what the event releases under the relation; refuse what no theorem here covers."""
    steps = tuple(_steps(event, neighbours, 1, 0))
    if not steps:
        raise InvalidQuantityError("the event releases nothing (NoOpDpEvent): there is nothing to price")
    return Ledger(steps, realisable=steps, ordered=not _takes_turns(event))


def _takes_turns(event: object, repeated: bool = False) -> bool:
    """Say whether a composition of several events is repeated: the list of steps does not show their order then."""
    name, fields = _class_and_fields(event)
    if name == "SelfComposedDpEvent":
        return _takes_turns(fields["event"], repeated or fields["count"] != 1)
    events = fields["events"] if name == "ComposedDpEvent" else ()
    if not isinstance(events, list | tuple):
        return False
    return (repeated and len(events) > 1) or any(_takes_turns(each, repeated) for each in events)


def _steps(event: object, neighbours: Neighbours, times: int, depth: int) -> list[Step]:
    if depth > DEEPEST:
        raise InvalidQuantityError(f"an event is nested more than {DEEPEST} deep")
    name, fields = _class_and_fields(event)
    match name:
        case "NoOpDpEvent":
            _fields(name, fields, ())
            return []
        case "NonPrivateDpEvent":
            raise NotPrivateError("a NonPrivateDpEvent adds no noise: its epsilon is infinite")
        case "ComposedDpEvent":
            (events,) = _fields(name, fields, ("events",))
            if not isinstance(events, list | tuple):
                raise InvalidQuantityError(f"ComposedDpEvent.events must be a list, got {events!r}")
            return [step for each in events for step in _steps(each, neighbours, times, depth + 1)]
        case "SelfComposedDpEvent":
            inner, repeated = _fields(name, fields, ("event", "count"))
            return _steps(inner, neighbours, times * count("SelfComposedDpEvent.count", repeated), depth + 1)
        case _:
            return [_release(name, fields, neighbours, times)]


def _release(name: str, fields: Event, neighbours: Neighbours, times: int) -> Step:
    replaced = neighbours is Neighbours.REPLACE_ONE
    sensitivity = 2 if replaced else 1
    match name:
        case "GaussianDpEvent":
            nu = _multiplier(name, fields) / sensitivity
            return GaussianStep(1 / nu**2, times, neighbours=neighbours)
        case "LaplaceDpEvent":
            return LaplaceStep(sensitivity / _multiplier(name, fields), times, neighbours)
        case "PoissonSampledDpEvent":
            rate, inner = _fields(name, fields, ("sampling_probability", "event"))
            if neighbours is not Neighbours.ADD_OR_REMOVE:
                raise UnsupportedSchemeError(
                    f"PoissonSampledDpEvent under {neighbours} neighbours: no theorem is implemented; under "
                    "add-or-remove there is one"
                )
            return PoissonGaussianStep(_number(name, "sampling_probability", rate), _gaussian(name, inner), times)
        case "SampledWithoutReplacementDpEvent":
            size, sample, inner = _fields(name, fields, ("source_dataset_size", "sample_size", "event"))
            if not replaced:
                raise UnsupportedSchemeError(
                    f"SampledWithoutReplacementDpEvent under {neighbours} neighbours: the event does not say which of "
                    "the two data sets has that size; under replace-one both have"
                )
            n, m = count(f"{name}.source_dataset_size", size), count(f"{name}.sample_size", sample)
            if m > n:
                raise InvalidQuantityError(f"{name}.sample_size must be at most source_dataset_size={n}, got {m}")
            return SubsampledGaussianStep(Fraction(m, n), _gaussian(name, inner) / sensitivity, times)
    raise UnsupportedSchemeError(f"no theorem is implemented for a {name}")


def _gaussian(outer: str, event: object) -> Fraction:
    name, fields = _class_and_fields(event)
    if name != "GaussianDpEvent":
        raise UnsupportedSchemeError(f"a {outer} is priced around a GaussianDpEvent only, got {name}")
    return _multiplier(name, fields)


def _multiplier(name: str, fields: Event) -> Fraction:
    (value,) = _fields(name, fields, ("noise_multiplier",))
    return _number(name, "noise_multiplier", value)


def _number(name: str, field: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | Fraction):
        raise InvalidQuantityError(f"{name}.{field} must be an exact number (a decimal string), got {value!r}")
    return positive(f"{name}.{field}", value)


def _class_and_fields(event: object) -> tuple[str, Event]:
    if not isinstance(event, Mapping) or not isinstance(event.get("class_name"), str):
        raise InvalidQuantityError(f"an event is an object with a class_name, got {str(event)[:80]!r}")
    if event.get("module_name", MODULE) != MODULE:
        raise UnsupportedSchemeError(f"only events of {MODULE} are known, got {event['module_name']!r}")
    return str(event["class_name"]), {k: v for k, v in event.items() if k not in {"class_name", "module_name"}}


def _fields(name: str, fields: Event, expected: tuple[str, ...]) -> tuple[object, ...]:
    if set(fields) != set(expected):
        raise InvalidQuantityError(f"a {name} has the fields {list(expected)}, got {sorted(map(str, fields))}")
    return tuple(fields[each] for each in expected)


def event_of_ledger(ledger: Ledger) -> dict[str, object]:
    """Return an event that costs at least what the ledger costs, under the ledger's relation; or refuse."""
    if not ledger.sound:
        raise UnsupportedSchemeError("the printed sensitivities are violated here: no event describes this ledger")
    events = [_repeated(_event_of_step(step), step.count) for step in ledger.steps]
    return events[0] if len(events) == 1 else {"class_name": "ComposedDpEvent", "events": events}


def _repeated(event: dict[str, object], times: int) -> dict[str, object]:
    return event if times == 1 else {"class_name": "SelfComposedDpEvent", "event": event, "count": times}


def _event_of_step(step: Step) -> dict[str, object]:
    match step:
        case GaussianStep() if step.noise is Noise.GAUSSIAN:
            sensitivity = 2 if step.neighbours is Neighbours.REPLACE_ONE else 1
            return _gaussian_event(sensitivity * root(1 / step.ratio_squared, "down"))
        case SubsampledGaussianStep() if step.noise is Noise.GAUSSIAN and step.neighbours is Neighbours.REPLACE_ONE:
            return {
                "class_name": "SampledWithoutReplacementDpEvent",
                "source_dataset_size": step.sampling_rate.denominator,
                "sample_size": step.sampling_rate.numerator,
                "event": _gaussian_event(2 * step.noise_multiplier),
            }
        case PoissonGaussianStep():
            inner = _gaussian_event(step.noise_multiplier)
            if step.sampling_rate == 1:
                return inner
            rate = decimal_string(step.sampling_rate, DIGITS, "up")
            return {"class_name": "PoissonSampledDpEvent", "sampling_probability": rate, "event": inner}
        case LaplaceStep():
            sensitivity = 2 if step.neighbours is Neighbours.REPLACE_ONE else 1
            multiplier = decimal_string(sensitivity / step.epsilon, DIGITS, "down")
            return {"class_name": "LaplaceDpEvent", "noise_multiplier": multiplier}
    raise UnsupportedSchemeError(f"no DpEvent describes this step (it would cost less there than it may here): {step}")


def _gaussian_event(multiplier: Fraction) -> dict[str, object]:
    return {"class_name": "GaussianDpEvent", "noise_multiplier": decimal_string(multiplier, DIGITS, "down")}


def event_document(ledger: Ledger) -> dict[str, object]:
    """Return the event of a ledger with the relation that it is for: what `--dp-event FILE` writes."""
    event = event_of_ledger(ledger)
    return {"format": FORMAT, "version": VERSION, "neighbours": ledger.neighbours.value, "event": event}


def read_event_file(path: Path) -> tuple[dict[str, object], Neighbours]:
    """Return the event of a file and its relation; decimals are read as written."""
    try:
        document: object = json.loads(path.read_text("utf-8"), parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise InvalidQuantityError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, dict) or set(document) != {"format", "version", "neighbours", "event"}:
        raise InvalidQuantityError(f"{path}: an event file has format, version, neighbours and event")
    if (document["format"], document["version"]) != (FORMAT, VERSION):
        raise InvalidQuantityError(f"{path}: expected format {FORMAT!r}, version {VERSION}")
    words = [relation.value for relation in Neighbours]
    if document["neighbours"] not in words or not isinstance(document["event"], dict):
        raise InvalidQuantityError(f"{path}: neighbours must be one of {', '.join(words)}, and event an object")
    return document["event"], Neighbours(document["neighbours"])


def event_of_object(event: object) -> dict[str, object]:
    """Return a `dp_accounting` object as plain values; a binary float is priced as the number that it is."""
    described: dict[str, object] = {"module_name": type(event).__module__, "class_name": type(event).__name__}
    if described["module_name"] != MODULE:
        raise UnsupportedSchemeError(f"only events of {MODULE} are known, got {described['module_name']!r}")
    for field in getattr(type(event), "__attrs_attrs__", ()):
        described[field.name] = _plain(getattr(event, field.name))
    return described


def _plain(value: object) -> object:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidQuantityError(f"a field of an event must be finite, got {value}")
        return Fraction(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return event_of_object(value) if hasattr(type(value), "__attrs_attrs__") else value


def object_of_event(event: Event) -> object:
    """Return the `dp_accounting` object of an event (needs that package): reals become the nearest binary64."""
    from dp_accounting import dp_event  # noqa: PLC0415 - needed here alone

    name, fields = _class_and_fields(event)
    make: Callable[..., object] | None = getattr(dp_event, name, None)
    if make is None:
        raise UnsupportedSchemeError(f"dp_accounting has no {name}")
    return make(**{field: _object_value(value) for field, value in fields.items()})


def _object_value(value: object) -> object:
    if isinstance(value, Mapping):
        return object_of_event(value)
    if isinstance(value, list | tuple):
        return [_object_value(each) for each in value]
    return float(Fraction(value)) if isinstance(value, str | Decimal | Fraction) else value
