"""A certificate as a JSON file, with the scores that it was computed from in an npz file beside it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.limited_files import read_limited, unpack_gzip
from fedward.base.randomness import check_draw
from fedward.base.strict_json import digest, parse, require_keys
from fedward.base.validate import InvalidType, InvalidValue, one_of, whole
from fedward.certificates.certificate import Attack, Certificate
from fedward.certificates.code_version import code_version
from fedward.certificates.confidence import Confidence, TopClass
from fedward.certificates.others.any_certificate import AnySetting
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.others.setting_file import other_setting_as_json, other_setting_from_json
from fedward.certificates.replica_scores import SCORES
from fedward.certificates.setting import Setting
from fedward.certificates.statements import statements
from fedward.privacy import Guarantee, ledger_file
from fedward.privacy.guarantee import text

_FORMAT, _VERSION = "fedward certificate", 2
# Those by other proofs than fedward's own say by which.
_OTHER = 3
# Files of version 1 do not say which draw their replicas belong to.
_READABLE = (1, _VERSION, _OTHER)
_WHAT = "certificate file"
_KEYS = ("format", "version", "code", "says", "setting", "stored", "predictions", "attacks", "releasing_all")
_CODE = ("fedward", "source", "dp_accounting", "numpy", "scipy")
_RULE = ("method", "error", "looks", "simultaneous")
_PLAIN = ("users", "delta", "accountant", "initial_model", "data", "threats", "attendance", "behaviour")
_STORED = ("file", "digest", "score", "seed", "examples", "classes", "draw")
_PREDICTIONS = ("top", "lower", "upper", "predicts")
_ATTACK = ("threat", "k", "most", "predicts", "accuracy")


class NotACertificate(InvalidValue):
    """A file that is none: it is not said to be one anywhere in it."""


def dumps(certificate: Certificate, stored: str) -> str:
    """The text of a certificate. The same certificate gives the same text.

    Args:
      certificate: what to write.
      stored: the name of the file beside it that holds the scores (``Replicas.to_bytes``).
    """
    setting, bounds = certificate.setting, certificate.bounds
    body = {
        "format": _FORMAT,
        "version": _OTHER if isinstance(setting, OtherSetting) else _VERSION,
        "code": code_version(),
        "says": statements(certificate),
        "setting": _setting_as_json(setting),
        "stored": {
            "file": _file_name(stored),
            "digest": certificate.scores,
            "score": certificate.score,
            "seed": certificate.seed,
            "examples": certificate.examples,
            "classes": certificate.classes,
            "draw": certificate.draw,
        },
        "predictions": {
            "top": bounds.top.tolist(),
            "lower": bounds.lower.tolist(),
            "upper": bounds.upper.tolist(),
            "predicts": certificate.predicts.tolist(),
        },
        "attacks": [
            {name: _as_list(getattr(attack, name)) for name in _ATTACK} for attack in certificate.attacks
        ],
        "releasing_all": certificate.releasing_all.to_json(),
    }
    # Through JSON once, so that the digest is of what a reader sees: lists, not tuples.
    body = json.loads(json.dumps(body, allow_nan=False))
    return json.dumps({**body, "digest": digest(body)}, ensure_ascii=False) + "\n"


class Stored:
    """What ``loads`` found: the certificate, the file of its scores, its words, the code and its version."""

    def __init__(self, certificate: Certificate, content: dict[str, Any]) -> None:
        self.certificate = certificate
        self.version: int = content["version"]
        self.file: str = content["stored"]["file"]
        self.says: list[str] = content["says"]
        self.code: dict[str, str] = content["code"]


def loads(text: str) -> Stored:
    """The certificate that ``dumps`` wrote; anything else is refused. Nothing is recomputed here.

    The digest finds damage and careless edits. It is no signature: whoever forges a file can forge it too,
    and only ``check`` finds that.
    """
    try:
        content = parse(text, _WHAT)
    except InvalidValue as error:
        # A certificate that was cut off still begins like one.
        if _FORMAT in text[:100]:
            raise
        raise NotACertificate(str(error)) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise NotACertificate(f"{_WHAT} must be of the format {_FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version not in _READABLE:
        *first, last = map(str, _READABLE)
        wanted = f"{', '.join(first)} or {last}"
        raise InvalidValue(f"{_WHAT} must be of version {wanted}, got {version!r}")
    try:
        require_keys(content, (*_KEYS, "digest"), _WHAT)
        found = Stored(_certificate(content), content)
        for line in _list(content["says"], "what it says"):
            _text(line, "what it says")
        require_keys(content["code"], _CODE, "code")
        for name in _CODE:
            _text(content["code"][name], f"version of {name}")
    except (InvalidValue, RecursionError) as error:
        raise InvalidValue(f"{_WHAT} is not valid: {error}") from error
    if content.pop("digest") != digest(content):
        raise InvalidValue(f"{_WHAT} must be as it was written, got one that was damaged or changed")
    return found


def read_certificate_text(file: Path) -> str:
    """The text of a certificate's file, packed (``.gz``) or not; no more than certificates have."""
    content = read_limited(file)
    try:
        return (unpack_gzip(content, str(file)) if file.suffix == ".gz" else content).decode("utf8")
    except (UnicodeDecodeError, gzip.BadGzipFile) as error:
        raise NotACertificate(str(error)) from error
    except (zlib.error, EOFError) as error:  # what was packed and is damaged may well have been one
        raise InvalidValue(str(error)) from error


def _certificate(content: dict[str, Any]) -> Certificate:
    stored, predictions = content["stored"], content["predictions"]
    old = content["version"] == 1
    require_keys(stored, _STORED[:-1] if old else _STORED, "stored")
    _file_name(stored["file"])
    one_of("score", stored["score"], SCORES)
    examples = whole("number of examples", stored["examples"])
    require_keys(predictions, _PREDICTIONS, "predictions")
    return Certificate(
        setting=_any_setting(content),
        score=stored["score"],
        seed=whole("seed", stored["seed"], at_least=0),
        classes=whole("number of classes", stored["classes"], at_least=2),
        scores=_text(stored["digest"], "digest of the scores"),
        bounds=TopClass(
            _integers(predictions["top"], "top", examples, least=0),
            *(_unit(predictions[name], name, examples) for name in ("lower", "upper")),
        ),
        predicts=_unit(predictions["predicts"], "predicts", examples),
        attacks=tuple(_attack(attack, examples) for attack in _list(content["attacks"], "attacks")),
        releasing_all=Guarantee.from_json(content["releasing_all"]),
        draw="" if old else check_draw(stored["draw"]),
    )


def _setting_as_json(setting: AnySetting) -> dict[str, Any]:
    if isinstance(setting, OtherSetting):
        return other_setting_as_json(setting)
    return {
        "ledger": json.loads(ledger_file.dumps(setting.ledger)),
        "confidence": {name: getattr(setting.confidence, name) for name in _RULE},
        **{name: getattr(setting, name) for name in _PLAIN},
    }


def _any_setting(content: dict[str, Any]) -> AnySetting:
    read = other_setting_from_json if content["version"] == _OTHER else _setting
    return read(content["setting"])


def _setting(content: Any) -> Setting:
    require_keys(content, ("ledger", "confidence", *_PLAIN), "setting")
    require_keys(content["confidence"], _RULE, "confidence")
    ledger, _ = ledger_file.loads(json.dumps(content["ledger"]))
    return Setting(**content | {"ledger": ledger, "confidence": Confidence(**content["confidence"])})


def _attack(content: Any, examples: int) -> Attack:
    require_keys(content, _ATTACK, "attack")
    accuracy = content["accuracy"]
    return Attack(
        threat=content["threat"],
        k=_integers(content["k"], "k", examples, least=-1),
        most=whole("most", content["most"], at_least=0),
        predicts=_unit(content["predicts"], "predicts", examples),
        accuracy=None if accuracy is None else tuple(_unit(accuracy, "accuracy", None).tolist()),
    )


def _as_list(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _file_name(value: str) -> str:
    # A path could point anywhere; the scores lie beside the certificate.
    if _text(value, "stored file") in ("", ".", "..") or "/" in value or "\\" in value:
        raise InvalidValue(f"stored file must be the name of a file beside the certificate, got {value!r}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidType(f"{what} must be a list, got {value!r}")
    return value


def _text(value: Any, what: str) -> str:
    return text(what, value)


def _unit(value: Any, what: str, length: int | None) -> NDArray[np.float64]:
    return np.array(
        _numbers(value, what, length, lambda x: isinstance(x, int | float) and 0 <= x <= 1), dtype=np.float64
    )


def _integers(value: Any, what: str, length: int, least: int) -> NDArray[np.int64]:
    return np.array(
        _numbers(value, what, length, lambda x: isinstance(x, int) and least <= x < 2**53), dtype=np.int64
    )


def _numbers(value: Any, what: str, length: int | None, allowed: Callable[[Any], bool]) -> list[Any]:
    if length is not None and len(_list(value, what)) != length:
        raise InvalidValue(f"{what} must be given for {length} examples, got {len(value)}")
    for x in _list(value, what):
        if isinstance(x, bool) or not allowed(x):
            raise InvalidValue(f"{what} must hold numbers in range, got {x!r}")
    return list(value)
