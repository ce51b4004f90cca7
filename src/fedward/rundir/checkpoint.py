"""A server state as bytes, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedward.base.randomness import check_coins, check_draw
from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue
from fedward.core.types import ServerState
from fedward.privacy import ledger_file, user_ledgers_file
from fedward.privacy.ledger import Ledger

_FORMAT = "fedward checkpoint 3"
# Without it nobody knows which model was released: the rounds may not run again in the same directory.
_REMEDY = "put back a copy of it, or start again in another directory with --out"
_KEYS = {"format", "replica", "round", "parameters", "server", "policy", "ledger", "users"}
# Of a replica that belongs to no draw, or whose parts carry nothing from round to round, they are not
# written: the files of such runs are what they always were.
_OPTIONAL = {"draw", "mechanism", "coins", "memory", "previous"}
# Replicas of so many variants take turns.
_LEDGERS = 32


def to_bytes(state: ServerState) -> bytes:
    return seal(_FORMAT, to_content(state))


def to_content(state: ServerState) -> dict[str, Any]:
    """The state as tensors and plain values."""
    return _to_content(state, ledger_file.dumps(state.ledger))


def to_contents(states: Iterable[ServerState]) -> list[dict[str, Any]]:
    """The same of many states; a ledger that several of them have is put into words once."""
    texts: list[tuple[Ledger, str]] = []
    contents = []
    for state in states:
        text = next((text for ledger, text in texts if ledger == state.ledger), None)
        if text is None:
            text = ledger_file.dumps(state.ledger)
            texts = [*texts[-_LEDGERS:], (state.ledger, text)]
        contents.append(_to_content(state, text))
    return contents


def _to_content(state: ServerState, ledger: str) -> dict[str, Any]:
    content = {"format": _FORMAT} | vars(state)
    content |= {key: list(content[key]) for key in ("server", "policy", "mechanism", "memory", "previous")}
    content["ledger"] = ledger
    content["users"] = None if state.users is None else user_ledgers_file.dumps(state.users)
    return {key: value for key, value in content.items() if key not in _OPTIONAL or value}


def from_bytes(content: bytes, source: str) -> ServerState:
    """Reads a checkpoint; tensors and plain values only, no code is run."""
    return from_content(unseal(_FORMAT, content, source, _REMEDY), source)


def from_content(saved: Any, source: str) -> ServerState:
    """The state that ``to_contents`` was given; anything else is refused."""
    known = isinstance(saved, dict) and saved.get("format") == _FORMAT
    if not known or saved.keys() - _OPTIONAL != _KEYS:
        raise InvalidValue(f"{source} must be a file of the format {_FORMAT!r}")
    ledger, _ = ledger_file.loads(saved["ledger"])
    return ServerState(
        replica=saved["replica"],
        round=saved["round"],
        parameters=saved["parameters"],
        server=tuple(saved["server"]),
        policy=tuple(saved["policy"]),
        ledger=ledger,
        users=None if saved["users"] is None else user_ledgers_file.loads(saved["users"]),
        draw=check_draw(saved.get("draw", "")),
        mechanism=tuple(saved.get("mechanism", ())),
        coins=check_coins(saved.get("coins", "")),
        memory=tuple(saved.get("memory", ())),
        previous=tuple(saved.get("previous", ())),
    )
