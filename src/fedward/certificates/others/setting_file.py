"""The setting of a certificate by another proof, as its file has it."""

from __future__ import annotations

import json
from typing import Any

from fedward.base.strict_json import require_keys
from fedward.base.validate import InvalidValue, one_of
from fedward.certificates.confidence import Confidence
from fedward.certificates.others import PROOFS, Proof
from fedward.certificates.others.certain import EXACT, Certain, Rule
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.others.parameter_smoothing import SmoothedRound
from fedward.privacy import ledger_file

_RULE = ("method", "error", "looks", "simultaneous")
_PLAIN = ("users", "delta", "accountant", "initial_model", "data", "threats", "attendance", "behaviour")
_KEYS = ("by", "ledger", "confidence", "step", *_PLAIN)
_STEP = ("reach", "noise")


def other_setting_as_json(setting: OtherSetting) -> dict[str, Any]:
    """All of it as plain values."""
    step = setting.step
    return {
        "by": setting.by.to_json(),
        "ledger": json.loads(ledger_file.dumps(setting.ledger)),
        "confidence": {name: getattr(setting.confidence, name) for name in _RULE},
        "step": None if step is None else {name: getattr(step, name) for name in _STEP},
        **{name: getattr(setting, name) for name in _PLAIN},
    }


def other_setting_from_json(content: Any) -> OtherSetting:
    """What ``other_setting_as_json`` wrote; anything else is refused."""
    require_keys(content, _KEYS, "setting")
    require_keys(content["confidence"], _RULE, "confidence")
    ledger, _ = ledger_file.loads(json.dumps(content["ledger"]))
    step = content["step"]
    if step is not None:
        require_keys(step, _STEP, "step")
    return OtherSetting(
        by=proof_from_json(content["by"]),
        ledger=ledger,
        confidence=_rule(content["confidence"]),
        step=None if step is None else SmoothedRound(**step),
        **{name: content[name] for name in _PLAIN},
    )


def proof_from_json(content: Any) -> Proof:
    """A proof from its ``to_json``."""
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise InvalidValue(f"proof must be a table with a name, got {content!r}")
    one_of("proof", content["name"], PROOFS)
    options = {key: value for key, value in content.items() if key != "name"}
    try:
        return PROOFS[content["name"]](**options)
    except TypeError as error:
        raise InvalidValue(f"proof {content['name']} has other options: {error}") from error


def _rule(content: dict[str, Any]) -> Rule:
    if content["method"] != EXACT:
        return Confidence(**content)
    found = Certain(looks=tuple(content["looks"]))
    if (content["error"], content["simultaneous"]) != (found.error, found.simultaneous):
        raise InvalidValue("votes that are certain must have no error, got one")
    return found
