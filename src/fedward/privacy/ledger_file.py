"""Ledgers as JSON text: everything that is needed to compute what a ledger claims once more."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, NamedTuple

from fedward.base.strict_json import digest, parse, require_keys
from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy.events import event_from_json, event_to_json
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Entry, Ledger
from fedward.privacy.older_words import check_words, terms_of
from fedward.privacy.terms import Terms
from fedward.version import __version__

_FORMAT, _VERSION = "fedward ledger", 2
_TOLERANCE = 1e-6
_WRITTEN_BY = ("fedward", "dp_accounting")
_LEDGER = ("unit", "adjacency", "noise_source", "terms", "reason", "entries", "reserved")
_ENTRY = ("event", "first_round", "count", "released")


class Check(NamedTuple):
    """One claim, the ε that the ledger really comes to, and whether they agree."""

    claimed: Guarantee
    recomputed: float
    holds: bool

    @property
    def problem(self) -> str:
        """What is wrong with the claim; empty if nothing is."""
        if self.holds:
            return ""
        if not _equal(self.claimed.epsilon, self.recomputed):
            less = self.claimed.epsilon < self.recomputed
            return "claims less than was spent" if less else "not reproduced: claims more than was spent"
        return "describes another training than the ledger's"


def dumps(ledger: Ledger, claims: Sequence[Guarantee] = ()) -> str:
    """The text of a ledger and of what is claimed about it. The same ledger gives the same text."""
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "fedward": __version__,
        "dp_accounting": version("dp-accounting"),
        "unit": ledger.unit,
        "adjacency": ledger.adjacency,
        "noise_source": ledger.noise_source,
        "terms": ledger.terms.to_json(),
        # For people: it is made from the rest, and a file in which it says something else is refused.
        "sampling": ledger.sampling,
        "reason": ledger.reason,
        "entries": [_entry_to_json(entry) for entry in ledger.entries],
        "reserved": None if ledger.reserved is None else _entry_to_json(ledger.reserved),
        "claims": [claim.to_json() for claim in claims],
    }
    # Files of other trainings are what they always were.
    if ledger.later:
        body["later"] = [_entry_to_json(entry) for entry in ledger.later]
    return json.dumps({**body, "digest": digest(body)}, indent=2, allow_nan=False) + "\n"


def loads(text: str) -> tuple[Ledger, tuple[Guarantee, ...]]:
    """The ledger and the claims of a text that ``dumps`` wrote, also in version 1; anything else is refused.

    What it says about sampling must be what its events and terms say.

    The digest finds damage and careless edits. It is no signature: whoever forges a file can forge it too.
    """
    content = parse(text, "ledger file")
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InvalidValue(f"ledger file must be of the format {_FORMAT!r}")
    if type(content.get("version")) is not int or content["version"] not in (1, _VERSION):
        raise InvalidValue(f"ledger file must be of version {_VERSION} or 1, got {content.get('version')!r}")
    try:
        ledger = _ledger(content)
        claims = tuple(Guarantee.from_json(claim) for claim in _list(content, "claims"))
        if content["version"] == 1:
            claims = tuple(_in_todays_words(claim, ledger) for claim in claims)
    except (InvalidType, InvalidValue, RecursionError) as error:
        raise InvalidValue(f"ledger file is not valid: {error}") from error
    if content.pop("digest") != digest(content):
        raise InvalidValue("ledger file must be as it was written, got one that was damaged or changed")
    return ledger, claims


def _ledger(content: dict[str, Any]) -> Ledger:
    """The ledger of either version; what version 1 said in a sentence becomes terms here."""
    old = content["version"] == 1
    keys = [key for key in _LEDGER if not (old and key == "terms")]
    more = ("later",) if "later" in content else ()
    require_keys(
        content,
        ("format", "version", *_WRITTEN_BY, *keys, *more, "sampling", "claims", "digest"),
        "ledger file",
    )
    for name in _WRITTEN_BY:
        if not isinstance(content[name], str):
            raise InvalidType(f"version of {name} must be text, got {content[name]!r}")
    # An older ledger without a guarantee may name any sampling: nobody relies on it.
    plain = old and bool(content["reason"])
    terms = (
        (Terms() if plain else terms_of(content["sampling"])) if old else Terms.from_json(content["terms"])
    )
    ledger = Ledger(
        **{name: content[name] for name in keys}
        | {"terms": terms}
        | {"entries": tuple(_entry_from_json(entry) for entry in _list(content, "entries"))}
        | {"reserved": None if content["reserved"] is None else _entry_from_json(content["reserved"])}
        | {name: tuple(_entry_from_json(entry) for entry in _list(content, name)) for name in more}
    )
    if old and not plain:
        check_words(content["sampling"], ledger.spending, terms)
    elif not old and content["sampling"] != ledger.sampling:
        raise InvalidValue(
            f"sampling must be that of the events, {ledger.sampling!r}, got {content['sampling']!r}"
        )
    return ledger


def _in_todays_words(claim: Guarantee, ledger: Ledger) -> Guarantee:
    """A claim of version 1, if it is about the sampling of the ledger, in the words of today."""
    if claim.reason or claim.terms != ledger.terms:
        return claim
    check_words(claim.sampling, ledger.spending, claim.terms)
    return replace(claim, sampling=ledger.sampling)


def verify(text: str) -> list[Check]:
    """Computes every claim of a ledger file once more, from the file alone.

    A claim holds if its ε is the recomputed one within a millionth and if all else that it states (unit,
    adjacency, sampling, divisor, noise source, rounds, caveats) is what the ledger says.
    """
    ledger, claims = loads(text)
    return [_check(ledger, claim) for claim in claims]


def _check(ledger: Ledger, claim: Guarantee) -> Check:
    try:
        found = ledger.guarantee(claim.delta, claim.accountant)
    except InvalidValue:
        # The accountant refuses this spending: nobody can have computed the claim with it.
        return Check(claim, math.inf, False)
    same = (
        replace(claim, epsilon=found.epsilon, reason=found.reason) == found and claim.reason == found.reason
    )
    return Check(claim, found.epsilon, same and _equal(claim.epsilon, found.epsilon))


def _equal(claimed: float, recomputed: float) -> bool:
    return claimed == recomputed or abs(claimed - recomputed) <= _TOLERANCE * recomputed < math.inf


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _ENTRY} | {"event": event_to_json(entry.event)}


def _entry_from_json(content: Any) -> Entry:
    require_keys(content, _ENTRY, "entry")
    return Entry(**content | {"event": event_from_json(content["event"])})


def _list(content: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(content[name], list):
        raise InvalidType(f"{name} must be a list, got {content[name]!r}")
    return list(content[name])
