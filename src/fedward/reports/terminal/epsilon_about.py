"""The meaning of each ε in a table: one line for what all have in common, columns for what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fedward.privacy.guarantee import ACCOUNTANT_LABELS, Guarantee
from fedward.privacy.rounding import delta_text

_ABOUT: dict[str, Callable[[Guarantee], str]] = {
    "δ": lambda each: delta_text(each.delta),
    "unit": lambda each: each.level_in_words,
    "adjacency": lambda each: each.adjacency if each.proven else "add/remove assumed",
    "accountant": lambda each: ACCOUNTANT_LABELS[each.accountant],
    "noise": lambda each: each.noise_in_words,
}


def differing_columns(guarantees: Sequence[Guarantee]) -> dict[str, list[str]]:
    """What they differ in: a column each, with a cell for every guarantee, empty where there is none."""
    return {
        name: [said(each) if each.private else "" for each in guarantees]
        for name, said in _ABOUT.items()
        if len({said(each) for each in guarantees if each.private}) > 1
    }


def common_lines(guarantees: Sequence[Guarantee]) -> list[str]:
    """A line for what all ε have in common, and one for each caveat; nothing where there is no ε.

    >>> both = [Guarantee(epsilon=ε, delta=0.001, unit="user", adjacency="add/remove", sampling="everyone",
    ...                   accountant="pld", noise_source="system", rounds=3) for ε in (1.0, 2.0)]
    >>> common_lines(both)
    ['each ε: δ = 0.001, user level, add/remove, pld accountant, system entropy']
    """
    private = [each for each in guarantees if each.private]
    if not private:
        return []
    differing = differing_columns(guarantees)
    same = {name: said(private[0]) for name, said in _ABOUT.items() if name not in differing}
    words = [f"δ = {value}" if name == "δ" else value for name, value in same.items() if value]
    caveats = dict.fromkeys(each.caveats for each in private if each.caveats)
    lines = [f"each ε: {', '.join(words)}"] if words else []
    for caveat in caveats:
        number = sum(each.caveats == caveat for each in private)
        lines.append(caveat if number == len(private) else f"{number:,} of them: {caveat}")
    return lines
