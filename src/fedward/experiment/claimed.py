"""What is claimed about the replicas of a directory: fixed when ``certify`` begins, and kept to.

claims.json             what is claimed, and at which numbers of replicas
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedward.certify.confidence import ANY_TIME, Confidence
from fedward.core.validate import InvalidValue
from fedward.experiment.certification import Claims
from fedward.experiment.files import write_atomically
from fedward.experiment.record_files import certificates, json_object

_FILE = "claims.json"
_ANOTHER = "to look at the data in another way, use another --out"


def fix_claims(
    claims: Claims,
    path: Path,
    variants: Sequence[str],
    *,
    finished: int,
    shown: int | None,
    costs: bool,
) -> Claims:
    """The claims as they may be made in a run directory, stored there; refuses any that came after a look.

    Until a replica is finished everything may be changed, and until the results of all of them were shown
    the number of replicas may. After that only ``betting_sequence`` goes on, with all looks in its claims.

    Args:
      claims: what is to be claimed now.
      path: the run directory.
      variants: the names of what is certified, which certificates have.
      finished: how many replicas are.
      shown: at how many replicas their accuracy was last shown (``result.json``); None if never.
      costs: whether costs are bounded, which no method does at all times at once.
    """
    stored = list(_stored(path, variants))
    certified = any(path.glob("certificate*.json*")) or (path / "certified.json").exists()
    if finished or certified:
        for each in stored:
            _require_same(path, each, _content(claims))
    looks = {look for each in stored if certified for look in each["looks"]}
    if shown is not None:
        # A look that was planned, and then killed before it, was none.
        looks = {look for look in looks if look <= shown} | {shown}
    claims = replace(claims, earlier=_earlier(claims, sorted(looks), costs))
    text = json.dumps(_content(claims), indent=2) + "\n"
    if not (path / _FILE).exists() or (path / _FILE).read_text(encoding="utf8") != text:
        write_atomically(path / _FILE, text.encode())
    return claims


def _earlier(claims: Claims, looks: list[int], costs: bool) -> tuple[int, ...]:
    replicas, earlier = claims.replicas, tuple(look for look in looks if look < claims.replicas)
    goes_on = not costs and claims.confidence.method in ANY_TIME
    if set(looks) <= {replicas}:
        return ()
    if goes_on and looks[-1] <= replicas:
        return earlier
    seen = " and ".join(map(str, looks))
    others = "" if costs else f" (only --method {' or '.join(ANY_TIME)} allows going on after a look)"
    raise InvalidValue(
        f"number of replicas must be fixed beforehand, got {replicas} where the results of {seen} were shown "
        f"already{others}; {_ANOTHER}"
    )


def _content(claims: Claims) -> dict[str, Any]:
    return _claimed(claims.confidence, claims.score, claims.threats, claims.attendance)


def _claimed(rule: Confidence, score: str, threats: Sequence[str], attendance: str) -> dict[str, Any]:
    return {
        "looks": list(rule.looks),
        "score": score,
        "method": rule.method,
        "error": rule.error,
        "simultaneous": rule.simultaneous,
        "threats": sorted(threats),
        "attendance": attendance,
    }


def _stored(path: Path, variants: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What was claimed before: as it was stored, or, by an older fedward, as far as its results say it."""
    if (path / _FILE).exists():
        yield _readable(path / _FILE, json_object(path / _FILE))
        return
    found = certificates(path, variants)
    for each in found.values():
        setting = each.setting
        yield _claimed(setting.confidence, each.score, setting.threats, setting.attendance)
    if not found and (content := json_object(path / "certified.json")):
        yield from (_readable(path / "certified.json", _summarised(each)) for each in content.values())


def _summarised(found: Any) -> dict[str, Any] | None:
    """What a summary says that older versions wrote, of predictions or of costs; None if it is none."""
    try:
        if "measured" in found:
            claimed = {"looks": [each["replicas"] for each in found["measured"][:1]]}
        else:
            claimed = {"looks": [found["replicas"]], "error": found["error"]}
        modes = {curve["mode"] for curve in found["lines" if "measured" in found else "curves"]}
    except (KeyError, TypeError):
        return None
    return claimed | {"threats": sorted(modes - {"paper"})}


def _readable(file: Path, content: dict[str, Any] | None) -> dict[str, Any]:
    looks = None if content is None else content.get("looks")
    if not isinstance(looks, list) or not looks or not all(type(look) is int for look in looks):
        raise InvalidValue(
            f"{file} is damaged, it does not say at how many replicas: put back a copy, or use another --out"
        )
    assert content is not None
    return content


def _require_same(path: Path, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compares all but the number of replicas, as far as it is known."""
    changed = [
        f"{key} ({stored[key]!r} there, {value!r} here)"
        for key, value in wanted.items()
        if key != "looks" and key in stored and stored[key] != value
    ]
    if changed:
        raise InvalidValue(
            f"what is claimed must be fixed beforehand, got other claims than {path} was begun with: "
            f"{', '.join(changed)}; {_ANOTHER}"
        )
