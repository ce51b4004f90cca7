"""The questions of an audit: how it attacks, what it sees, how much it runs and how sure it is to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fedward.base.validate import InvalidValue, one_of, open_unit, whole

Mode = Literal["mechanism", "one-run", "black-box"]
See = Literal["rounds", "final"]

MODES: tuple[str, ...] = get_args(Mode)
VIEWS: tuple[str, ...] = get_args(See)

LEAST_RUNS, MOST_RUNS = 100, 10_000_000
_PILOT, _ENOUGH = 10, 200


@dataclass(frozen=True, kw_only=True)
class AuditQuestion:
    """What is audited, and how.

    Args:
      mode: ``mechanism``: many trainings with and without a canary that shows as much as any could, against
        the exact likelihood ratio of what the ledger says. ``one-run``: one training with many canaries,
        each in by a coin. ``black-box``: many trainings on real data, of which the last model is seen.
      see: ``rounds``: the attacker sees the models of all rounds, or what each user sends where users protect
        themselves. ``final``: the last model alone.
      runs: how many trainings, at most 10,000,000; a one-run audit has one.
      canaries: of a one-run audit; None for as many as there is room for, at most 1,000.
      error: the probability with which the bounds may be wrong, all of them together.

    >>> AuditQuestion(runs=4000).pilot(2)
    400
    """

    mode: Mode = "mechanism"
    see: See = "rounds"
    runs: int = 4000
    canaries: int | None = None
    error: float = 0.05

    def __post_init__(self) -> None:
        one_of("mode", self.mode, MODES)
        one_of("see", self.see, VIEWS)
        whole("runs", self.runs, at_least=LEAST_RUNS, at_most=MOST_RUNS)
        if self.canaries is not None:
            whole("canaries", self.canaries, at_least=10)
            if self.mode != "one-run":
                raise InvalidValue(
                    f"canaries are for the mode one-run, got them with {self.mode}; leave them out"
                )
        open_unit("error", self.error)
        if self.mode == "black-box" and self.see != "final":
            raise InvalidValue(f"a black box shows the final model alone: see must be final, got {self.see}")
        if self.mode == "one-run" and self.see != "rounds":
            raise InvalidValue(f"a one-run audit watches all rounds: see must be rounds, got {self.see}")

    def pilot(self, stages: int) -> int:
        """How many trainings of each stage are there to learn from and to choose by."""
        found = max(self.runs // _PILOT, min(self.runs // (2 * stages), _ENOUGH))
        return found // 4 * 4
