"""The first round of trainings that draw the same users: one plan and one sum of rows for all of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

from fedward.core.algorithm import Algorithm
from fedward.core.receive import Received
from fedward.core.roster import Roster
from fedward.core.round import draw_cohort, plan_round
from fedward.core.types import Adversary, Plan, PrivateTrainer, ServerState


@dataclass
class _Known:
    """A cohort that trainings of one algorithm drew; the algorithm is held, and so its identity."""

    algorithm: Algorithm
    plan: Plan
    uses: int = 0
    received: Received | None = None


class FirstRounds:
    """One plan and one sum for all first rounds with the same cohort: they differ in their noise alone.

    With a sampler that takes everybody that is all of them: M trainings of N users are then N local
    trainings, one sum, and M draws of noise, where planning and adding up would take M N steps. Attackers,
    and users that draw noise of their own, share nothing.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], _Known] = {}
        self._by_plan: dict[int, _Known] = {}

    def next_call(self) -> None:
        """Keeps of each algorithm the cohort that was drawn last, and forgets the others."""
        last = {identity: (identity, cohort) for identity, cohort in self._known}
        self._known = {key: self._known[key] for key in last.values()}
        self._by_plan = {id(known.plan): known for known in self._known.values()}

    def plan(
        self, algorithm: Algorithm, state: ServerState, roster: Roster, adversary: Adversary | None, seed: int
    ) -> Plan:
        """The plan of a training's next round: the very one of another training, where that is the same."""
        if adversary is not None or state.round > 0 or isinstance(algorithm.local, PrivateTrainer):
            return plan_round(algorithm, state, roster, adversary, seed)
        key = id(algorithm), draw_cohort(algorithm, state, roster, seed).tobytes()
        known = self._known.pop(key, None)
        if known is None:
            known = _Known(algorithm, plan_round(algorithm, state, roster, None, seed))
            self._by_plan[id(known.plan)] = known
        self._known[key] = known  # the last one
        known.uses += 1
        return known.plan

    def has(self, plan: Plan) -> bool:
        """Whether the rows of this plan have been received."""
        known = self._by_plan.get(id(plan))
        return known is not None and known.received is not None

    def received(self, plan: Plan, receive: Callable[[], Received]) -> Received:
        """The rows of a plan, added up once where several trainings have it; each gets a sum of its own."""
        known = self._by_plan.get(id(plan))
        if known is None or known.uses < 2:
            return receive()
        if known.received is None:
            known.received = receive()
        return replace(known.received, total=copy.deepcopy(known.received.total))

    def clear(self) -> None:
        """Forgets everything."""
        self._known.clear()
        self._by_plan.clear()
