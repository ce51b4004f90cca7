"""The outcome of training replicas of a certificate again, in typed fields and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fedward.certificates.catch_probability import SHARES, Catch, catch
from fedward.certificates.score_comparison import Disagreement
from fedward.certificates.trust import Statement
from fedward.privacy.rounding import percent_down

ComparedBy = Literal["bits", "tolerance"]


@dataclass(frozen=True, kw_only=True)
class Retrained:
    """What came of it.

    Args:
      replicas: M.
      chosen: the replicas that were taken at random.
      compared: those of them that were trained again: fewer than all where a disagreement ended it.
      compared_by: bit for bit, or within ``tolerance``.
      tolerance: how far a confidence may be off; 0 for bits.
      why_tolerance: why bits were not asked for; empty where they were.
      bit_for_bit: how many agree in every bit, whatever was asked for.
      largest_difference: of all confidences; 0 where votes were compared.
      earlier: how many of them had been compared when a check that was killed was gone on with.
      seed: that they were chosen by; None for system entropy, which nobody can foresee.
      counts_only: whether only counts over all replicas are stored, and were compared.
      experiment: what was trained again, by its name.
      disagreements: one for each replica that does not agree.
    """

    replicas: int
    chosen: tuple[int, ...]
    compared: tuple[int, ...]
    compared_by: ComparedBy
    tolerance: float
    why_tolerance: str
    bit_for_bit: int
    largest_difference: float
    seed: int | None
    counts_only: bool
    experiment: str
    disagreements: tuple[Disagreement, ...]
    earlier: int = 0

    @property
    def agrees(self) -> bool:
        return not self.disagreements

    @property
    def caught(self) -> tuple[Catch, ...]:
        """How surely a forger was caught who made a share of the replicas up; nothing if one was."""
        if not self.agrees:
            return ()
        return tuple(catch(self.replicas, len(self.compared), share) for share in SHARES)

    def to_json(self) -> dict[str, Any]:
        return {
            "replicas": self.replicas,
            "chosen": list(self.chosen),
            "compared": list(self.compared),
            "earlier": self.earlier,
            "agrees": self.agrees,
            "compared_by": self.compared_by,
            "tolerance": self.tolerance,
            "why_tolerance": self.why_tolerance,
            "bit_for_bit": self.bit_for_bit,
            "largest_difference": self.largest_difference,
            "seed": self.seed,
            "counts_only": self.counts_only,
            "experiment": self.experiment,
            "disagreements": [each.to_json() for each in self.disagreements],
            "caught": [each.to_json() for each in self.caught],
        }

    def statements(self) -> tuple[Statement, ...]:
        """What was found out by it, where it agrees."""
        return (
            Statement(
                "experiment",
                f"the experiment that was trained again ({self.experiment}) has the data, initial model, "
                "seed, users, ledger and test labels that it states",
            ),
            Statement("retrained", self.headline),
        )

    def trusted(self, before: tuple[Statement, ...], *, drawn: bool) -> tuple[Statement, ...]:
        """What still rests on trust, of what did before.

        Args:
          before: what rests on trust where nothing is trained.
          drawn: whether the replicas belong to a draw of what is claimed.
        """
        left = self.replicas - len(self.compared)
        kept = {"choice"} if drawn else {"choice", "fixed_beforehand"}
        others = (
            (
                Statement(
                    "trainings",
                    f"that the {left:,} replicas that were not trained again come from the same trainings",
                ),
            )
            if left
            else ()
        )
        return (*others, *(each for each in before if each.what in kept))

    @property
    def headline(self) -> str:
        """How many were trained again, how they were compared, and how surely a forger was caught."""
        count, kind = len(self.compared), "bit for bit"
        if self.compared_by == "tolerance":
            kind = (
                f"within {self.tolerance:g}, {self.bit_for_bit:,} of them bit for bit ({self.why_tolerance})"
            )
        what = "and their counts agree" if self.counts_only else "and agree"
        return f"{count:,} of {self.replicas:,} replicas were trained again {what}, {kind}; {self._odds()}"

    def _odds(self) -> str:
        if len(self.compared) == self.replicas:
            return "none is left that could be false"
        probabilities = ", ".join(
            f"{percent_down(each.at_least, 4)} for p = {_share(each)}" for each in self.caught
        )
        unknown = "" if self.seed is None else f", if they did not know the seed {self.seed} beforehand"
        return (
            "a forger with a share p of false replicas is caught with probability at least 1 - (1 - p)^"
            f"{len(self.compared)}{unknown}: {probabilities}"
        )


def _share(found: Catch) -> str:
    return next((str(share) for share in SHARES if float(share) == found.share), f"{found.share:g}")
