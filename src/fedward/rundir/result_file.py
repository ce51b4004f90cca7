"""Checks of ``result.json`` and ``rounds.jsonl``, so that damage is found before anybody uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee

REMEDY = "remove it, and the same command makes it again"

# A form is a tuple of types, a list of values of one form, a table of keys that must be there, or one under
# "*" whose values all have the same form.
Form = Any
_NUMBER = (int, float)
_MAYBE = (int, float, type(None))
_INTERVAL = {"mean": _MAYBE, "low": _MAYBE, "high": _MAYBE}

_RUN: dict[str, Form] = {
    "rounds": (int,),
    "stopped_by_budget": (bool,),
    "guarantee": (dict,),
    "statement": (str,),
}
_REPLICAS: dict[str, Form] = {"replicas": (int,), "variants": {"*": {"*": _INTERVAL}}}
_INFERENCE: dict[str, Form] = {"limit": (dict,), "guarantee": (dict,), "statement": (str,)}
_MEASURED: dict[str, Form] = {
    "accuracy": _NUMBER,
    "loss": _MAYBE,
    "attack_success": _NUMBER,
    "attack_cost": _MAYBE,
    "attacks": {"*": {"success": _NUMBER, "cost": _MAYBE, "examples": (int,)}},
}
_OPTIONAL: dict[str, Form] = _MEASURED | {
    "norms": {"honest": _MAYBE, "malicious": _MAYBE},
    "notes": [(str,)],
    "shares": [(str,)],
    "kept_rounds": [{"round": (int,), "why": (str,)}],
    **dict.fromkeys(("rejected_updates", "test_examples"), (int,)),
    **dict.fromkeys(("each_user", "looks", "papers_claim_statement"), (str,)),
}
# What is never there alone.
_TOGETHER = (("accuracy", "loss"), ("attack_success", "attack_cost"))


def checked_result(content: dict[str, Any], manifest: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Returns what the file holds, if it is the result of the run that the manifest describes.

    Args:
      content: of the file.
      manifest: of ``run.json`` beside it.
      file: its path, for errors.
    """
    experiment = manifest.get("experiment")
    kinds = experiment if isinstance(experiment, dict) else {}
    known: dict[str, Form]
    if "variants" in kinds:
        wanted, known = _REPLICAS, {}
    elif "inference" in kinds:
        wanted, known = _INFERENCE, {"accuracy": _MAYBE}
    else:
        wanted, known = _RUN, _OPTIONAL
    for key in wanted:
        if key not in content:
            raise InvalidValue(f"{file} is damaged, it does not say {key!r}: {REMEDY}")
    wrong = _wrong(content, wanted | known)
    if not wrong and "guarantee" in wanted:
        wrong = _no_guarantee(content["guarantee"])
    if wrong:
        raise InvalidValue(f"{file} is damaged, {wrong}: {REMEDY}")
    return content


def checked_metrics(records: Sequence[dict[str, Any]], file: Path) -> list[dict[str, Any]]:
    """Returns what was measured round by round, if every record says it in numbers."""
    for record in records:
        if wrong := _wrong(record, _MEASURED):
            where = f"in round {record['round']}"
            raise InvalidValue(f"{file} is damaged, {where} {wrong}: put back a copy of it")
    return list(records)


def _wrong(content: Mapping[str, Any], forms: Mapping[str, Form]) -> str:
    """What is wrong with the first key that is; empty if nothing is."""
    for key, form in forms.items():
        if key in content and not _fits(content[key], form):
            return f"{key!r} is {content[key]!r:.60}"
    for pair in _TOGETHER:
        there = [key for key in pair if key in content]
        if len(there) == 1 and all(key in forms for key in pair):
            return f"it says {there[0]!r} alone"
    return ""


def _fits(value: Any, form: Form) -> bool:
    """
    >>> _fits({"a": [1, 2]}, {"*": [(int,)]}), _fits({"a": [1, "b"]}, {"*": [(int,)]}), _fits(True, (int,))
    (True, False, False)
    """
    if isinstance(form, tuple):
        return isinstance(value, form) and (bool in form or not isinstance(value, bool))
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(each, form[0]) for each in value)
    if not isinstance(value, dict):
        return False
    if "*" in form:
        return all(_fits(each, form["*"]) for each in value.values())
    return all(key in value and _fits(value[key], each) for key, each in form.items())


def _no_guarantee(content: Any) -> str:
    try:
        Guarantee.from_json(content)
    except ValueError as error:
        return str(error)
    return ""
