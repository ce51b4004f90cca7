"""The eight kinds of events that fedward uses: checked, folded and written as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

from fedward.base.validate import InvalidType, InvalidValue, nearest, positive, rate, whole
from fedward.privacy.accounting_events import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    RandomAllocationDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)

Adjacency = Literal["add/remove", "zero-out", "replace-one", "local"]
"""The relation between two federations that must be hard to tell apart.

*add/remove*: one of them has one user (or example) more. *zero-out*: both have the same, public number of
users, and the contribution of one of them is there or is zero. *replace-one*: one user is another one.
*local*: all data of one user are replaced, and who takes part is public.
"""

ADJACENCIES: tuple[str, ...] = get_args(Adjacency)

# Beyond these, squares and products leave floating point; no training comes near them.
_LEAST_NOISE, _MOST_NOISE = 1e-50, 1e50
_MOST_TIMES = 10**12


def fold(*noise_multipliers: float) -> float:
    """The noise multiplier of several Gaussian releases about the same cohort, seen as one.

        z = (Σ z_i^-2)^-1/2

    It is exact: the releases together are one Gaussian release of a longer vector. Sampled events must be
    folded before they are sampled; accountants do not take a sampled composition apart.

    >>> fold(3.0, 4.0)
    2.4
    """
    if not noise_multipliers:
        raise InvalidValue("at least one noise multiplier must be folded, got 0")
    least = min(multiplier(z) for z in noise_multipliers)
    # Divided by the least first, so that no square overflows and one alone comes back unchanged.
    return least / math.sqrt(math.fsum((least / z) ** 2 for z in noise_multipliers))


def multiplier(value: float) -> float:
    """Returns a noise multiplier that can be accounted for, as a float."""
    if not _LEAST_NOISE <= positive("noise multiplier", value) <= _MOST_NOISE:
        raise InvalidValue(f"noise multiplier must be from {_LEAST_NOISE:g} to {_MOST_NOISE:g}, got {value}")
    return float(value)


def times(value: int) -> int:
    """Returns how often an event happens, as an int."""
    if whole("count", value) > _MOST_TIMES:
        raise InvalidValue(f"count must be at most {_MOST_TIMES:,}, got {value:,}")
    return int(value)


def check_event(event: DpEvent) -> DpEvent:
    """A copy of an event that is one of the eight kinds, with every value in range."""
    return event_from_json(event_to_json(event))


def event_to_json(event: DpEvent) -> dict[str, Any]:
    """The event as plain values. Unknown kinds are refused, and so are values out of range.

    >>> event_to_json(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)))["sampling_probability"]
    0.1
    """
    name = type(event).__name__
    kind, fields = _KINDS.get(name, (None, {}))
    # The exact class: what a subclass means is unknown.
    if type(event) is not kind:
        raise InvalidType(f"event must be one of {', '.join(_KINDS)}, got {event!r}")
    content = {field: encode(getattr(event, field)) for field, (encode, _) in fields.items()}
    _check_sizes(content)
    return {"type": name, **content}


def event_from_json(content: Any) -> DpEvent:
    """The event that ``event_to_json`` wrote; anything else is refused, never guessed.

    >>> event_from_json({"type": "GaussianDpEvent", "noise_multiplier": 2})
    GaussianDpEvent(noise_multiplier=2.0)
    >>> event_from_json({"type": "GaussianDpEvent", "noise_multiplier": -2})
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: noise multiplier must be positive and finite, got -2
    """
    if not isinstance(content, dict) or not isinstance(content.get("type"), str):
        raise InvalidType(f"event must be an object with a type, got {content!r}")
    name = content["type"]
    if name not in _KINDS:
        raise InvalidValue(
            f"event type must be one of {', '.join(_KINDS)}, got {name!r}{nearest(name, _KINDS)}"
        )
    kind, fields = _KINDS[name]
    if content.keys() != {"type", *fields}:
        raise InvalidValue(
            f"{name} must have the keys {', '.join(['type', *fields])}, got {', '.join(map(str, content))}"
        )
    values = {field: decode(content[field]) for field, (_, decode) in fields.items()}
    _check_sizes(values)
    return kind(**values)


def _rate(value: float) -> float:
    return float(rate("sampling rate", value))


def _size(value: int) -> int:
    return int(whole("number of records", value))


def _epoch(value: int) -> int:
    return int(whole("rounds of an epoch", value))


def _all_to_json(events: Any) -> list[dict[str, Any]]:
    return [event_to_json(event) for event in events]


def _all_from_json(contents: Any) -> list[DpEvent]:
    if not isinstance(contents, list):
        raise InvalidType(f"events must be a list, got {contents!r}")
    return [event_from_json(content) for content in contents]


def _check_sizes(values: dict[str, Any]) -> None:
    if "sample_size" in values and values["sample_size"] > values["source_dataset_size"]:
        raise InvalidValue(
            f"sample size must be at most {values['source_dataset_size']}, the number of records, "
            f"got {values['sample_size']}"
        )


_Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_EVENT: _Codec = (event_to_json, event_from_json)

# For each kind, how its fields are written and read; both ways check.
_KINDS: dict[str, tuple[Any, dict[str, _Codec]]] = {
    "GaussianDpEvent": (GaussianDpEvent, {"noise_multiplier": (multiplier, multiplier)}),
    "PoissonSampledDpEvent": (
        PoissonSampledDpEvent,
        {"sampling_probability": (_rate, _rate), "event": _EVENT},
    ),
    "SampledWithoutReplacementDpEvent": (
        SampledWithoutReplacementDpEvent,
        {"source_dataset_size": (_size, _size), "sample_size": (_size, _size), "event": _EVENT},
    ),
    "RandomAllocationDpEvent": (RandomAllocationDpEvent, {"epoch": (_epoch, _epoch), "event": _EVENT}),
    "NonPrivateDpEvent": (NonPrivateDpEvent, {}),
    "NoOpDpEvent": (NoOpDpEvent, {}),
    "SelfComposedDpEvent": (SelfComposedDpEvent, {"event": _EVENT, "count": (times, times)}),
    "ComposedDpEvent": (ComposedDpEvent, {"events": (_all_to_json, _all_from_json)}),
}
