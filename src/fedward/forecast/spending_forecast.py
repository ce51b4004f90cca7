"""A forecast of the ε of an experiment by each accountant, and of the round where its budget ends it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from fedward.base.validate import InvalidValue
from fedward.privacy import ACCOUNTANTS, Guarantee
from fedward.privacy.pld import NoiseTooSmall
from fedward.privacy.rounding import round_up_digits
from fedward.studies.training.setup import Setup

# A grid of losses grows with ε, and beyond this nobody asks for its last digits.
_LARGE = 20.0


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What a training will have spent.

    Args:
      rounds: that it will have; where users differ in what they spend, that one has who is always drawn.
      ended_by_budget: whether the budget ends it before the file's number of rounds.
      guarantee: by the experiment's own accountant.
      others: by each other accountant, or why it has none.
      looks: what the server's looks at norms spend, where users protect themselves.
    """

    rounds: int
    ended_by_budget: bool
    guarantee: Guarantee
    others: dict[str, Guarantee | str]
    looks: Guarantee | None


def forecast_spending(setup: Setup, *, by_others: bool = True) -> Spending:
    """Works out ε at the end, with the budget if there is one, and by the other accountants if wanted."""
    rounds = _rounds(setup)
    guarantee = setup.guarantee(rounds)
    others: dict[str, Guarantee | str] = {}
    if guarantee.private and by_others:
        for name in ACCOUNTANTS:
            if name != setup.accountant:
                others[name] = _guarantee_by(setup, rounds, name, guarantee.epsilon)
    looks = setup.looks(rounds)
    return Spending(
        rounds=rounds,
        ended_by_budget=rounds < setup.experiment.rounds,
        guarantee=guarantee,
        others=others,
        looks=looks if looks is not None and looks.epsilon > 0 else None,
    )


def _guarantee_by(setup: Setup, rounds: int, accountant: str, epsilon: float) -> Guarantee | str:
    if accountant == "pld" and epsilon > _LARGE:
        return f"it takes long where ε is large, and {setup.accountant} gives {round_up_digits(epsilon)}"
    try:
        return setup.guarantee(rounds, accountant)
    except InvalidValue as error:
        return str(error)


def _rounds(setup: Setup) -> int:
    """The most rounds within the budget; all of them where there is none."""
    wanted, budget = setup.experiment.rounds, setup.experiment.privacy.budget
    if budget is None:
        return wanted

    def affordable(rounds: int) -> bool:
        try:
            return setup.guarantee(rounds).epsilon <= budget
        except NoiseTooSmall:
            return False

    # From few rounds on: what very many of them spend takes long to find out, and nobody will spend it.
    within, beyond = 1, 2
    while beyond <= wanted and affordable(beyond):
        within, beyond = beyond, beyond * 2
    beyond = min(beyond, wanted + 1)
    return bisect_left(range(beyond), True, lo=within + 1, key=lambda rounds: not affordable(rounds)) - 1
