"""What a reader wants to know first about an arena: who loses least and most to the worst attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedward.reports.numbers import many, percent
from fedward.reports.page.findings.what_was_found import count_word
from fedward.rundir.arena_record import ArenaRecord, Standing


@dataclass(frozen=True, kw_only=True)
class ArenaFindings:
    """The title and the first sentences of the page of an arena."""

    arena: ArenaRecord

    @property
    def title(self) -> str:
        about = self.arena.about
        attacks = len(about.attacks) - 1
        return f"{count_word(len(about.defences))} defences under {many(attacks, 'attack')}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """How accurate models stay under the worst attack, and how often attackers get their way."""
        told = []
        accuracies = [(each.worst_accuracy.value, each) for each in self._met if each.worst_accuracy]
        if accuracies:
            best, least = _ends(accuracies)
            told.append(
                f"Under the worst attack that was tried on it, {_name(best)} keeps the most accuracy"
                f" ({percent(best[0])} of the answers are right), and {_name(least)} the least"
                f" ({percent(least[0])})."
            )
        successes = [(each.worst_success.value, each) for each in self._met if each.worst_success]
        if successes:
            most, fewest = _ends(successes)
            told.append(
                f"Attackers who want a certain answer get it least often from {_name(fewest)}"
                f" ({percent(fewest[0])}) and most often from {_name(most)} ({percent(most[0])})."
            )
        return tuple(told)

    @property
    def _met(self) -> Sequence[Standing]:
        return [each for each in self.arena.standings if each.tried]


Value = tuple[float, Standing]


def _ends(values: Sequence[Value]) -> tuple[Value, Value]:
    """The largest and the smallest."""
    return max(values, key=lambda each: each[0]), min(values, key=lambda each: each[0])


def _name(value: Value) -> str:
    standing = value[1]
    return f"{standing.defence} on {standing.data}" if standing.data else standing.defence
