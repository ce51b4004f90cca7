"""Local trainers on the wire: the name of one of ours and its fields, as JSON; never code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

from fedward.base.strict_json import parse
from fedward.base.validate import InvalidValue, shorten
from fedward.core.types import LocalTrainer
from fedward.deploy.wire.packet import BadPacket
from fedward.local import LOCAL_TRAINERS
from fedward.local.projected_sgd import Projected

# What trainers are in a round: those of files, and what projected SGD becomes there.
_TRAINERS: Mapping[str, type[LocalTrainer]] = {**LOCAL_TRAINERS, "projected": Projected}
_NAMES = {kind: name for name, kind in _TRAINERS.items()}


def trainer_text(trainer: LocalTrainer) -> str:
    """The text of a trainer; one of a user's own is refused: nodes would have to run code that they are sent.

    >>> from fedward.local import SGD
    >>> trainer_from(trainer_text(SGD(learning_rate=0.1, batch_size=8, epochs=1))).batch_size
    8
    """
    return json.dumps(_content(trainer), allow_nan=False)


def trainer_from(text: str) -> LocalTrainer:
    """The trainer of a text: every field once, no other, and its own checks pass."""
    try:
        return _trainer(parse(text, "local trainer"))
    except BadPacket:
        raise
    except (InvalidValue, RecursionError) as error:
        raise BadPacket(f"local trainer: {error}") from error


def _content(trainer: Any) -> dict[str, Any]:
    if type(trainer) not in _NAMES:
        raise InvalidValue(
            f"local trainer must be one of {', '.join(LOCAL_TRAINERS)} to be sent to nodes, "
            f"got {type(trainer).__name__}"
        )
    content: dict[str, Any] = {"name": _NAMES[type(trainer)]}
    for field in fields(trainer):
        value = getattr(trainer, field.name)
        content[field.name] = _content(value) if hasattr(value, "train") else value
    return content


def _trainer(content: Any) -> LocalTrainer:
    name = content.pop("name", None) if isinstance(content, dict) else None
    if not isinstance(name, str) or name not in _TRAINERS:
        raise BadPacket(f"local trainer must be one of {', '.join(_TRAINERS)}, got {shorten(name, 60)}")
    kind = cast(Callable[..., LocalTrainer], _TRAINERS[name])
    wanted = {field.name for field in fields(cast(Any, kind))}
    if content.keys() != wanted:
        raise BadPacket(
            f"local trainer {name} must have the fields {', '.join(sorted(wanted))}, "
            f"got {shorten(sorted(content), 200)}"
        )
    try:
        return kind(**{key: _value(value) for key, value in content.items()})
    except TypeError as error:
        raise BadPacket(f"local trainer {name} has a field of the wrong type: {error}") from error


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _trainer(value)
    return tuple(value) if isinstance(value, list) else value
