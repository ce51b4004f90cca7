"""The results of an arena in words and figures, the same on the terminal, on the page and in pictures."""

from __future__ import annotations

from collections.abc import Sequence

from fedward.privacy.rounding import round_up_digits
from fedward.rundir.arena_record import ArenaAbout, ArenaRecord, CellResult, RefusedCell, Standing, Worst
from fedward.rundir.results import Mean


def mean_words(mean: Mean | None) -> str:
    """
    >>> mean_words(Mean(mean=0.9, low=0.85, high=0.95)), mean_words(Mean(mean=0.9, low=None, high=None))
    ('90.0\\xa0% (85.0\\xa0to\\xa095.0)', '90.0\\xa0%')
    """
    return "" if mean is None else _with_ends(mean.value, mean.low, mean.high)


def worst_words(worst: Worst | None) -> str:
    """What the worst attack did, with its interval and its name."""
    return "" if worst is None else f"{_with_ends(worst.value, worst.low, worst.high)} {worst.attack}"


def rank_words(worst: Worst | None) -> str:
    """
    >>> rank_words(Worst(attack="a", value=0.5, low=0.4, high=0.6, first_rank=1, last_rank=3))
    '1 to 3'
    """
    if worst is None or worst.first_rank is None:
        return ""
    first, last = worst.first_rank, worst.last_rank
    return str(first) if first == last else f"{first} to {last}"


def epsilon_words(epsilon: float | None) -> str:
    """
    >>> epsilon_words(3.99871), epsilon_words(None)
    ('3.999', 'no guarantee')
    """
    return "no guarantee" if epsilon is None else round_up_digits(epsilon)


def tried_words(standing: Standing) -> str:
    """How many attacks a defence met; a star where none of them knew it."""
    met = f"{standing.tried}\xa0of\xa0{standing.attacks}"
    return met if standing.adaptively or not standing.tried else f"{met}\xa0*"


def _with_ends(value: float, low: float | None, high: float | None) -> str:
    # Lines may end before an interval and nowhere in it.
    between = "" if low is None or high is None else f" ({_per_cent(low)}\xa0to\xa0{_per_cent(high)})"
    return f"{_per_cent(value)}\xa0%{between}"


def _per_cent(share: float) -> str:
    """
    >>> _per_cent(-0.0001), _per_cent(-0.012)
    ('0.0', '-1.2')
    """
    return f"{round(100 * share, 1) + 0.0:.1f}"


def seconds_of(record: ArenaRecord, standing: Standing) -> float | None:
    """Seconds of a round of a defence apart from local trainings, over all cells that were timed."""
    rounds, seconds = 0, 0.0
    for cell in record.cells:
        if (cell.data, cell.defence) == (standing.data, standing.defence):
            sides = {"data": cell.data, "defence": cell.defence, "attack": cell.attack}
            name = ", ".join(f"{side}={label}" for side, label in sides.items() if label)
            if (known := record.seconds.get(name)) is not None:
                rounds, seconds = rounds + known.rounds, seconds + known.seconds
    return seconds / rounds if rounds else None


def seconds_words(seconds: float | None) -> str:
    """
    >>> seconds_words(0.01234), seconds_words(12.34), seconds_words(None)
    ('0.012', '12', '')
    """
    return "" if seconds is None else f"{seconds:.2g}"


def state_of(cell: CellResult, about: ArenaAbout) -> str:
    """Why a cell has no numbers; empty if it has, or how many of its seeds are missing."""
    if any((each.data, each.defence, each.attack) == _key(cell) for each in about.refused):
        return "refused"
    if not cell.runs:
        return "not trained"
    missing = len(about.seeds) - len(cell.seeds)
    return f"{missing} of {len(about.seeds)} seeds missing" if missing else ""


def refused_words(cell: RefusedCell) -> str:
    """Which cell is refused, and why."""
    return f"refused: {', '.join(filter(None, (cell.data, cell.defence, cell.attack)))}: {cell.why}"


def notes(record: ArenaRecord) -> list[str]:
    """What a reader of the table must know."""
    about, several = record.about, len(record.about.seeds) > 1
    found = [f"Means over {len(about.seeds)} seeds with 95 % intervals by Student's t."] if several else []
    attacks = max((each.tried for each in record.standings), default=0)
    if several and attacks > 1:
        found.append(
            "Worst cases are corrected for having chosen the attack among several (Bonferroni); how many "
            "cells and defences there are is not corrected for."
        )
    if several:
        found.append(
            "Ranks: 1 is best; two defences tie where their intervals overlap. A defence that did not meet "
            "every attack has none."
        )
    else:
        found.append("One seed: no intervals, and so no ranks.")
    unknown = [each.defence for each in record.standings if each.tried and not each.adaptively]
    if unknown := list(dict.fromkeys(unknown)):
        found.append(
            f"* No attack that knows the defence was tried on {_listed(unknown)}: what they withstood here "
            f"says little of such an attacker{_available(about, unknown)}."
        )
    found += [
        f"{each.defence} has no ε under {_listed(each.void_under)}: these attackers are shown honest "
        "updates, or add none of the noise that it counts on."
        for each in record.standings
        if each.void_under
    ]
    if any(_is_point(each.accuracy) or _is_point(each.attack_success) for each in record.cells):
        found.append(
            "Where all seeds came to the same number an interval has no width: that is what few seeds show, "
            "and no certainty."
        )
    if any(each.epsilon is not None for each in record.standings):
        found.append("Each ε is that of one training; choosing the best of many is not covered by it.")
    return list(dict.fromkeys(found))


def _is_point(mean: Mean | None) -> bool:
    return mean is not None and mean.low is not None and mean.low == mean.high


def _available(about: ArenaAbout, names: Sequence[str]) -> str:
    known = {each.adaptive_attack for each in about.defences if each.name in names} - {None}
    return f" ({_listed(sorted(map(str, known)))} would be one)" if known else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _key(cell: CellResult) -> tuple[str, str, str]:
    return (cell.data, cell.defence, cell.attack)
