"""The claims about the replicas of a directory: fixed when ``certify`` begins, and kept to.

claims.json             what is claimed, at which numbers of replicas, and the draw that belongs to it
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fedward.base.randomness import check_draw
from fedward.base.validate import InvalidValue
from fedward.certificates.claims import Claims
from fedward.certificates.claims_draw import CostClaims
from fedward.certificates.confidence import ANY_TIME
from fedward.certificates.others.certain import Rule
from fedward.rundir.certified_record import certificate_files, read_certificate
from fedward.rundir.file_record import FileRecord, json_object
from fedward.rundir.run_files import RunFiles

_FILE = "claims.json"
_REMEDY = "put back a copy, or use another --out"
_ANOTHER = "use another --out: other claims get fresh replicas there, with other sampling and other noise"


class StoredClaims(FileRecord):
    """What is claimed, as ``claims.json`` has it; of older directories as far as their results say it."""

    looks: Annotated[list[int], Field(min_length=1)]
    score: str = ""
    method: str = ""
    error: float = 0.0
    simultaneous: bool = False
    threats: list[str] = Field(default_factory=list)
    attendance: str = ""
    costs: dict[str, Any] | None = None
    by: dict[str, Any] | None = None
    draw: str = ""

    @classmethod
    def of(cls, rule: Rule, score: str, threats: Sequence[str], attendance: str, **more: Any) -> StoredClaims:
        """What such claims say; of an older version neither their costs nor their draw is known."""
        return cls(
            looks=list(rule.looks),
            score=score,
            method=rule.method,
            error=rule.error,
            simultaneous=rule.simultaneous,
            threats=sorted(threats),
            attendance=attendance,
            **{key: value for key, value in more.items() if value},
        )

    def differences(self, other: StoredClaims) -> Iterator[str]:
        """What other claims say otherwise, with both values, but for the number of replicas and the draw."""
        for key in StoredClaims.model_fields:
            there, here = getattr(self, key), getattr(other, key)
            if key == "by" and there != here:  # where it is not said, it was fedward's own proof
                yield f"by ({there or 'ours'!r} there, {here or 'ours'!r} here)"
            elif key not in ("looks", "draw") and self.says(key) and other.says(key) and there != here:
                yield f"{key} ({there!r} there, {here!r} here)"


def fix_claims(
    claims: Claims,
    path: Path,
    variants: Sequence[str],
    *,
    finished: int,
    shown: int | None,
    costs: CostClaims | None = None,
    under_way: bool = False,
) -> tuple[Claims, str]:
    """The claims as they may be made in a run directory, and their draw; refuses any that came too late.

    Until a replica is begun everything may be changed. After that the replicas belong to what is claimed:
    only ``betting_sequence`` goes on to more of them, with all looks in its claims. Directories of older
    versions, whose replicas belong to no draw, go on without one; there the number of replicas may be
    changed until results were shown.

    Args:
      claims: what is to be claimed now.
      path: the run directory.
      variants: the names of what is certified, which certificates have.
      finished: how many replicas are.
      shown: at how many replicas their accuracy was last shown (``result.json``); None if never.
      costs: what is claimed about costs, which no method bounds at all times at once; None for predictions.
      under_way: whether some are begun.
    """
    stored = list(_read_claims(path, variants))
    certified = any(path.glob("certificate*.json*")) or (path / "certified.json").exists()
    draw = claims.draw(costs)
    goes_on = costs is None and claims.rule.method in ANY_TIME
    hint = f" (only --method {' or '.join(ANY_TIME)} allows going on after a look)" if costs is None else ""
    if finished or under_way or certified:
        if not stored:
            # Of `fedward replicas`: whoever has seen them can choose what to claim about them.
            raise InvalidValue(
                "what is claimed must be fixed before replicas are trained, got a directory with replicas "
                f"that nothing was claimed about, {path}; {_ANOTHER}"
            )
        for each in stored:
            if changed := ", ".join(each.differences(_claims_now(claims, "", costs))):
                raise InvalidValue(
                    f"what is claimed must be fixed beforehand, got other claims than {path} was begun with: "
                    f"{changed}; {_ANOTHER}"
                )
        # Empty in an older directory.
        kept = check_draw(stored[0].draw)
        if kept not in ("", draw):
            _require_planned(claims.replicas, stored[:1], hint)
            raise InvalidValue(f"{path / _FILE} is damaged, its draw is not that of its claims; {_ANOTHER}")
        draw = kept
    looks = {look for each in stored if certified for look in each.looks}
    if shown is not None:
        # A look that was planned, and then killed before it, was none.
        looks = {look for look in looks if look <= shown} | {shown}
    if not (looks <= {claims.replicas} or (goes_on and max(looks) <= claims.replicas)):
        seen = " and ".join(map(str, sorted(looks)))
        raise InvalidValue(
            f"number of replicas must be fixed beforehand, got {claims.replicas} where the results of {seen} "
            f"were shown already{hint}; {_ANOTHER}"
        )
    claims = replace(claims, earlier=tuple(sorted(looks - {claims.replicas})))
    # In a directory without a draw `fedward replicas` may have shown any number of them since.
    if looks and not claims.earlier and claims.rule.method not in ANY_TIME:
        _require_planned(claims.replicas, stored, hint)
    text = json.dumps(_claims_now(claims, draw, costs).to_json(), indent=2) + "\n"
    RunFiles(path).write_if_changed(_FILE, text.encode())
    return claims, draw


def _claims_now(claims: Claims, draw: str, costs: CostClaims | None) -> StoredClaims:
    told = None if costs is None else {"attackers": list(costs.attackers), "bounds": dict(costs.bounds)}
    by = None if claims.by is None else claims.by.to_json()
    return StoredClaims.of(
        claims.rule, claims.score, claims.threats, claims.attendance, costs=told, by=by, draw=draw
    )


def _require_planned(replicas: int, stored: Sequence[StoredClaims], hint: str) -> None:
    for each in stored:
        if each.looks[-1] != replicas:
            raise InvalidValue(
                f"number of replicas must be fixed beforehand, got {replicas} where {each.looks[-1]} were "
                f"claimed before they were trained{hint}; {_ANOTHER}"
            )


def _read_claims(path: Path, variants: Sequence[str]) -> Iterator[StoredClaims]:
    """What was claimed before: as it was stored, or, by an older fedward, as far as its results say it."""
    if (path / _FILE).exists():
        yield StoredClaims.read(json_object(path / _FILE) or {}, path / _FILE, _REMEDY)
        return
    found = certificate_files(path, variants)
    for each in map(read_certificate, found.values()):
        setting = each.setting
        yield StoredClaims.of(
            setting.confidence, each.score, setting.threats, setting.attendance, draw=each.draw
        )
    summary = path / "certified.json"
    if not found and (content := json_object(summary)):
        yield from (StoredClaims.read(_summarise(each), summary, _REMEDY) for each in content.values())


def _summarise(found: Any) -> dict[str, Any]:
    """What a summary says that older versions wrote, of predictions or of costs; nothing if it is none."""
    try:
        if "measured" in found:
            claimed = {"looks": [each["replicas"] for each in found["measured"][:1]]}
        else:
            claimed = {"looks": [found["replicas"]], "error": found["error"]}
        modes = {curve["mode"] for curve in found["lines" if "measured" in found else "curves"]}
    except (KeyError, TypeError):
        return {}
    return claimed | {"threats": sorted(modes - {"paper"})}
