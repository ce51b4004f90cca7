"""``fedward certificate check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say, table

if TYPE_CHECKING:
    from fedward.certificates.certificate import Attack, Certificate

HOLDS = "holds: its numbers follow from the stored scores and the stated ledger"


@grouped
def check(
    file: Annotated[Path, Argument(help="A certificate (.json or .json.gz); its scores must lie beside it.")],
    as_json: AsJson = False,
) -> None:
    """Recompute a certificate from its file and the stored scores, and say whether it holds.

    Nothing is trained again: what rests on trust in whoever made it is listed.
    """
    from fedward.certificates.checking import check_file

    certificate, verdict = check_file(file)
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
            "attacks": [_summary(attack) for attack in certificate.attacks],
            "releasing_all": certificate.releasing_all.to_json(),
        }
    if not as_json and certificate is not None and verdict.holds:
        _print(certificate)
    lines = [f"the certificate {HOLDS if verdict.holds else 'does not hold'}"]
    lines += [f"- {problem}" for problem in verdict.problems]
    if verdict.holds:
        lines += ["recomputed:", *(f"- {each.says}" for each in verdict.recomputed)]
        lines += ["rests on trust, and was not checked:"]
        lines += [f"- {each.says}" for each in verdict.rests_on_trust]
    answer(as_json, content, *lines, *(f"note: {note}" for note in verdict.notes))
    if not verdict.holds:
        raise typer.Exit(1)


def _summary(attack: Attack) -> dict[str, Any]:
    import numpy as np

    k = attack.k
    median = int(np.floor(np.median(k)))
    return {"threat": attack.threat, "least": int(k.min()), "median": median, "most": int(k.max())}


def _print(certificate: Certificate) -> None:
    from fedward.certificates.statements import statements
    from fedward.privacy.rounding import percent_down
    from fedward.reports.terminal.certified_table import largest_k

    console = plain_console()
    rows = []
    for attack in certificate.attacks:
        summary, accuracy = _summary(attack), ["labels not stored", ""]
        if attack.accuracy is not None:
            accuracy = [percent_down(share, 1) for share in (*attack.accuracy, 0.0)[:2]]
        # Below 0 not even the clean prediction is certified.
        certified = [None if summary[key] < 0 else summary[key] for key in ("median", "most")]
        numbers = [largest_k(k, attack.most) for k in certified]
        rows.append([attack.threat, *numbers, percent_down(float((attack.k >= 1).mean()), 1), *accuracy])
    headings = ["threat", "median k", "largest k", "certified at 1", "certified accuracy at 0", "at 1"]
    console.print(table(headings, rows, left=len(headings)))
    say(console, *statements(certificate))
