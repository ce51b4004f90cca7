"""A report of a node's ledger, for its owner: what each user has spent of its budget."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.deploy.node.node_ledger import NodeLedger
from fedward.deploy.node.node_rules import read_rules
from fedward.privacy.budget import Budget
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.rounding import epsilon_text


@dataclass(frozen=True, kw_only=True)
class LedgerReport:
    """Each user with what is guaranteed to it, and the budget."""

    budget: Budget
    users: tuple[tuple[str, Guarantee], ...]

    def lines(self) -> list[str]:
        """For people."""
        if not self.users:
            return ["nobody has spent anything yet"]
        head = f"budget of each user: ε = {self.budget.epsilon:g} at δ = {self.budget.delta:g}"
        return [
            head,
            *(
                f"  {name}: ε = {epsilon_text(each.epsilon)}, {_rounds(each.rounds)}"
                for name, each in self.users
            ),
        ]

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "budget": {
                "epsilon": self.budget.epsilon,
                "delta": self.budget.delta,
                "accountant": self.budget.accountant,
            },
            "users": {name: each.to_json() for name, each in self.users},
        }


def report_ledger(rules: Path) -> LedgerReport:
    """What the ledger that these rules name says; refuses rules without one."""
    read = read_rules(rules)
    if read.ledger is None:
        raise InvalidValue(f"{rules} trusts the server: its users have no ledger of their own")
    budget = read.budget
    found = NodeLedger(read.ledger, budget).read()
    if found is None:
        return LedgerReport(budget=budget, users=())
    each = found.ledgers.guarantees(budget.delta, budget.accountant).each
    places = found.ledgers.history_of.tolist()
    return LedgerReport(
        budget=budget, users=tuple((name, each[at]) for name, at in zip(found.names, places, strict=True))
    )


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"
