"""The ledgers of all users as one small JSON text."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.strict_json import digest, parse, require_keys
from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.privacy.events import event_from_json, event_to_json
from fedward.privacy.older_words import check_words, terms_of
from fedward.privacy.terms import Terms
from fedward.privacy.user_ledgers import Reservation, UserLedgers

_FORMAT, _VERSION = "fedward user ledgers", 2
_KEYS = ("unit", "adjacency", "noise_source", "events", "histories", "users", "history_of")
# In the place of ``terms`` version 1 had a sentence.
_TERMS = {1: "mechanism", 2: "terms"}
_MOST_USERS = 10**8


def dumps(ledgers: UserLedgers) -> str:
    """The text of the ledgers. Who has which history is packed: 100,000 users take some fifty kilobytes."""
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "unit": ledgers.unit,
        "adjacency": ledgers.adjacency,
        "terms": ledgers.terms.to_json(),
        "noise_source": ledgers.noise_source,
        "events": [event_to_json(event) for event in ledgers.events],
        "histories": [list(history) for history in ledgers.histories],
        "users": ledgers.num_users,
        "history_of": _pack(ledgers.history_of.astype(_place(len(ledgers.histories)))),
        "reserved": None
        if ledgers.reserved is None
        else _reservation_to_json(ledgers.reserved, ledgers.num_users),
    }
    # Files of other trainings are what they always were.
    if ledgers.later:
        body["later"] = [_reservation_to_json(each, ledgers.num_users) for each in ledgers.later]
    return json.dumps({**body, "digest": digest(body)}, indent=2, allow_nan=False) + "\n"


def loads(text: str) -> UserLedgers:
    """The ledgers of a text that ``dumps`` wrote, also in version 1; anything else is refused."""
    content = parse(text, "user ledgers file")
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InvalidValue(f"user ledgers file must be of the format {_FORMAT!r}")
    if type(content.get("version")) is not int or content["version"] not in _TERMS:
        raise InvalidValue(
            f"user ledgers file must be of version {_VERSION} or 1, got {content.get('version')!r}"
        )
    terms = _TERMS[content["version"]]
    more = ("later",) if "later" in content else ()
    keys = ("format", "version", *_KEYS, terms, "reserved", *more, "digest")
    require_keys(content, keys, "user ledgers file")
    body = {key: value for key, value in content.items() if key != "digest"}
    if digest(body) != content["digest"]:
        raise InvalidValue("user ledgers file must be as it was written, got one that was damaged or changed")
    try:
        users = whole("number of users", content["users"])
        histories = tuple(tuple(_list(h, "a history")) for h in _list(content["histories"], "histories"))
        places = _unpack(content["history_of"], users, _place(len(histories)))
        ledgers = UserLedgers(
            unit=content["unit"],
            adjacency=_adjacency(content),
            terms=terms_of(content[terms]) if content["version"] == 1 else Terms.from_json(content[terms]),
            noise_source=content["noise_source"],
            events=tuple(event_from_json(event) for event in _list(content["events"], "events")),
            histories=histories,
            history_of=places.astype(np.int32),
            reserved=None if content["reserved"] is None else _reservation(content["reserved"], users),
            later=tuple(
                _reservation(each, users) for name in more for each in _list(content[name], "reservations")
            ),
        )
        if content["version"] == 1:
            check_words(content["mechanism"], [(event, 1) for event in ledgers.events], ledgers.terms)
    except (InvalidValue, RecursionError) as error:
        raise InvalidValue(f"user ledgers file is not valid: {error}") from error
    return ledgers


def _adjacency(content: dict[str, Any]) -> Any:
    """As it was stored; where sizes are public version 1 called add/remove what is zero-out."""
    old = content["version"] == 1 and content["adjacency"] == "add/remove"
    return "zero-out" if old and terms_of(content["mechanism"]).public_sizes else content["adjacency"]


def _list(content: Any, name: str) -> list[Any]:
    if not isinstance(content, list):
        raise InvalidType(f"{name} must be a list, got {content!r}")
    return content


def _reservation_to_json(reserved: Reservation, num_users: int) -> dict[str, Any]:
    return {
        "round": reserved.round,
        "event": event_to_json(reserved.event),
        "users": _pack(np.packbits(_mask(reserved.users, num_users))),
    }


def _reservation(content: Any, num_users: int) -> Reservation:
    require_keys(content, ("round", "event", "users"), "reservation")
    bits = np.unpackbits(_unpack(content["users"], -(-num_users // 8), np.dtype(np.uint8)))
    if bits[num_users:].any():
        raise InvalidValue(f"reserved users must be among {num_users}, got others")
    return Reservation(
        round=content["round"], event=event_from_json(content["event"]), users=np.flatnonzero(bits)
    )


def _mask(users: NDArray[np.int64], num_users: int) -> NDArray[np.bool_]:
    mask = np.zeros(num_users, dtype=np.bool_)
    mask[users] = True
    return mask


def _place(histories: int) -> np.dtype[Any]:
    """The smallest numbers that tell so many histories apart: what is small packs fast."""
    return np.min_scalar_type(max(histories - 1, 0)).newbyteorder("<")


def _pack(array: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes())).decode("ascii")


def _unpack(content: Any, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
    if not isinstance(content, str) or size > _MOST_USERS:
        raise InvalidType(f"users must be packed text about at most {_MOST_USERS:,} of them")
    unpacking = zlib.decompressobj()
    try:
        # No more than what is wanted, so that a forged file cannot blow up in memory.
        raw = unpacking.decompress(base64.b64decode(content, validate=True), size * kind.itemsize + 1)
    except (ValueError, zlib.error) as error:
        raise InvalidValue(f"packed users cannot be read: {error}") from error
    if len(raw) != size * kind.itemsize or not unpacking.eof or unpacking.unused_data:
        raise InvalidValue("packed users must be as many as there are, and nothing else")
    return np.frombuffer(raw, dtype=kind)
