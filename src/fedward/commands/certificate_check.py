"""``fedward certificate check``."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.certificates.certificate_file import NotACertificate, loads
from fedward.certificates.checking import Check
from fedward.certificates.checking import check as recompute
from fedward.certificates.statements import statements
from fedward.certificates.trust import list_trusted
from fedward.commands.output import AsJson, answer
from fedward.privacy.rounding import percent_down
from fedward.report.terminal.certified_table import largest_k
from fedward.report.terminal.console import plain_console, say, table

File = Annotated[
    Path, typer.Argument(help="A certificate (.json or .json.gz); its scores must lie beside it.")
]

HOLDS = "holds: its numbers follow from the stored scores and the stated ledger"


def check(file: File, as_json: AsJson = False) -> None:
    """Recompute a certificate from its file and the stored scores, and say whether it holds.

    Nothing is trained again: what rests on trust in whoever made it is listed.
    """
    certificate, verdict = _verdict(file)
    content: dict[str, Any] = {
        "holds": verdict.holds,
        "problems": list(verdict.problems),
        "notes": list(verdict.notes),
        "recomputed": [each.to_json() for each in verdict.recomputed],
        "rests_on_trust": [each.to_json() for each in verdict.rests_on_trust],
    }
    if certificate is not None:
        content |= {
            "examples": certificate.examples,
            "replicas": certificate.setting.confidence.replicas,
            "attacks": [_summary(attack.threat, attack.k) for attack in certificate.attacks],
            "releasing_all": certificate.releasing_all.to_json(),
        }
    if not as_json and certificate is not None and verdict.holds:
        _print(certificate)
    lines = [f"the certificate {HOLDS if verdict.holds else 'does not hold'}"]
    lines += [f"- {problem}" for problem in verdict.problems]
    if verdict.holds:
        lines += ["recomputed:", *(f"- {each.says}" for each in verdict.recomputed)]
        lines += [
            "rests on trust, and was not checked:",
            *(f"- {each.says}" for each in verdict.rests_on_trust),
        ]
    lines += [f"note: {note}" for note in verdict.notes]
    answer(as_json, content, "\n".join(lines))
    if not verdict.holds:
        raise typer.Exit(1)


def _verdict(file: Path) -> tuple[Certificate | None, Check]:
    try:
        stored = loads(_content(file).decode("utf8"))
    except (NotACertificate, UnicodeDecodeError, gzip.BadGzipFile) as error:
        raise InvalidValue(f"{file} is not a certificate: {error}") from error
    # What was packed and is damaged may well have been one.
    except (InvalidValue, zlib.error, EOFError) as error:
        return None, Check((f"{file}: {error}",))
    beside = file.parent / stored.file
    try:
        scores = beside.read_bytes()
    except (OSError, ValueError) as error:
        # A ValueError is a name that no file can have.
        why = getattr(error, "strerror", None) or error
        unread = f"the stored scores cannot be read: {str(beside)!a}: {why}"
        return stored.certificate, Check((unread,), rests_on_trust=list_trusted(stored.certificate))
    return stored.certificate, recompute(stored, scores)


def _content(file: Path) -> bytes:
    """A certificate as it is, or packed (``.gz``)."""
    content = file.read_bytes()
    return gzip.decompress(content) if file.suffix == ".gz" else content


def _summary(threat: str, k: Any) -> dict[str, Any]:
    return {
        "threat": threat,
        "least": int(k.min()),
        "median": int(np.floor(np.median(k))),
        "most": int(k.max()),
    }


def _certified(k: int) -> int | None:
    """None stands for -1: not even the clean prediction is certified."""
    return None if k < 0 else k


def _print(certificate: Certificate) -> None:
    console = plain_console()
    rows = []
    for attack in certificate.attacks:
        summary = _summary(attack.threat, attack.k)
        accuracy = ["labels not stored", ""]
        if attack.accuracy is not None:
            accuracy = [percent_down(share, 1) for share in (*attack.accuracy, 0.0)[:2]]
        numbers = [largest_k(_certified(summary[key]), attack.most) for key in ("median", "most")]
        rows.append([attack.threat, *numbers, percent_down(float((attack.k >= 1).mean()), 1), *accuracy])
    headings = ["threat", "median k", "largest k", "certified at 1", "certified accuracy at 0", "at 1"]
    console.print(table(headings, rows, left=len(headings)))
    say(console, *statements(certificate))
