"""Certified accuracy against the number of attackers, as a table and as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from fedward.certificates.beside_headline import ceiling_in_words, release_in_words
from fedward.certificates.certified import Certified, Mode
from fedward.certificates.level import level
from fedward.privacy.guarantee import Unit
from fedward.privacy.rounding import percent_down
from fedward.reports.terminal.console import say
from fedward.reports.terminal.console import table as table_of

MODES: tuple[Mode, ...] = ("paper", "inject", "present", "compromise")
_TITLES: dict[Mode, dict[Unit, str]] = {
    "paper": {"user": "as in the paper", "example": "as in the paper"},
    "inject": {"user": "k attackers join", "example": "k examples are added"},
    "present": {"user": "k may be attackers already", "example": "k may be poisoned already"},
    "compromise": {"user": "k users are taken over", "example": "k examples are changed"},
}
SHARES = (0.5, 0.8, 0.9)
_POINTS = 8


def title(mode: Mode, unit: Unit) -> str:
    """What attackers do in this mode, where users or where examples are hidden.

    >>> title("inject", "user"), title("inject", "example")
    ('k attackers join', 'k examples are added')
    """
    return _TITLES[mode][unit]


def table(console: Console, found: Mapping[str, Certified]) -> None:
    """For each variant and mode: certified accuracy without attackers, and the largest k at some shares.

    Each number twice: with confidence, and from the means over the replicas as they are.
    """
    for name, certified in found.items():
        headings = ["mode", "at k = 0", *(f"k at {share:.0%}" for share in SHARES), "largest k"]
        rows = [(mode, *cells) for mode in MODES if (cells := _cells(certified, mode))]
        console.print(table_of(headings, rows, title=name if len(found) > 1 else None))
    first = next(iter(found.values()))
    say(
        console,
        f"{_how_sure(first)}; at k = 0: certified accuracy in %; k at 50%: the largest k at which it is at "
        "least 50%",
    )
    beside = {name: beside_headline(certified) for name, certified in found.items()}
    for name, sentences in beside.items():
        say(console, *(f"{name}: {each}" if len(found) > 1 else each for each in sentences))


def beside_headline(certified: Certified) -> list[str]:
    """What M allows at most, and what a release costs: to be read with every number of a certificate."""
    told = [
        ceiling_in_words(certified.ceilings),
        release_in_words(certified.guarantee, certified.releasing_all, len(certified.replicas)),
    ]
    return list(filter(None, told))


def _how_sure(certified: Certified) -> str:
    """What the numbers of a column are."""
    error = certified.certificate.setting.confidence.error
    if error == 0:
        return "certain: the votes were counted"
    if not any(not curve.sure for curve in certified.curves):
        return f"at confidence {level(error)}"
    return f"each twice: at confidence {level(error)} / from the means as they are"


def _cells(certified: Certified, mode: Mode) -> list[str]:
    """A row of the table; none where the mode has no curve."""
    curves = [curve for sure in (True, False) if (curve := certified.curve(mode, sure=sure)) is not None]
    # The paper's k is tried as far as that of attackers who join.
    most = certified.certificate.setting.most("inject" if mode == "paper" else mode)
    columns = [[f"{100 * curve.accuracy[0]:.1f}" for curve in curves]]
    columns += [[_whole(curve.largest(share)) for curve in curves] for share in SHARES]
    columns += [[largest_k(curve.most, most) for curve in curves]]
    return [" / ".join(column) for column in columns] if curves else []


def largest_k(k: int | None, most: int) -> str:
    """The largest k of any example, as a table shows it: none, one, or that where the search ended.

    >>> largest_k(None, 200), largest_k(0, 200), largest_k(200, 200)
    ('-', '0', '200 or more')
    """
    return f"{_whole(k)} or more" if k == most else _whole(k)


def _whole(k: int | None) -> str:
    return "-" if k is None else str(k)


def one(console: Console, certified: Certified) -> None:
    """Certified accuracy of one training at k = 0, 1, 2, ..., as it is printed when there are no variants."""
    for attack in certified.certificate.attacks:
        accuracy = attack.accuracy or ()
        step = max(1, -(-len(accuracy) // _POINTS))
        at = {k: accuracy[k] for k in range(0, len(accuracy), step)} | {len(accuracy) - 1: accuracy[-1]}
        told = ", ".join(f"{percent_down(share, 1)} at {k}" for k, share in at.items())
        what = title(attack.threat, certified.certificate.setting.ledger.unit)
        say(console, f"{what}: certified accuracy {told}")


def record(certified: Certified) -> dict[str, Any]:
    """The curves, and what one training and all of them guarantee, as plain values for a program to read."""
    papers = certified.papers_guarantee
    return {
        "epsilon": certified.epsilon if certified.guarantee.private else None,
        "papers_epsilon": certified.papers_epsilon,
        "delta": certified.certificate.setting.delta,
        "guarantee": certified.guarantee.to_json(),
        "statement": str(certified.guarantee),
        "papers_guarantee": None if papers is None else papers.to_json(),
        "releasing_all": certified.releasing_all.to_json(),
        "replicas": len(certified.replicas),
        "ceilings": [asdict(each) for each in certified.ceilings],
        "error": certified.certificate.setting.confidence.error,
        "curves": [
            {
                "mode": curve.mode,
                "with_confidence": curve.sure,
                "certified_accuracy": list(curve.accuracy),
                "largest_k_at": {f"{share:g}": curve.largest(share) for share in SHARES},
                "largest_k": curve.most,
            }
            for curve in certified.curves
        ],
    }
