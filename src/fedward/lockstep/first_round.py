"""The first round of trainings that draw the same users: one plan and one sum of rows for all of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from fedward.core.algorithm import Algorithm
from fedward.core.receive import Received
from fedward.core.roster import Roster
from fedward.core.round import draw_cohort, plan_round
from fedward.core.types import Adversary, Plan, PrivateTrainer, ServerState


@dataclass(eq=False)
class _Known:
    """A cohort that trainings drew whose rows are the same.

    Args:
      plans: of each algorithm, by its identity; it is held, and so its identity.
      left: how many trainings have planned this and not yet received their rows.
    """

    plans: dict[int, tuple[Algorithm, Plan]] = field(default_factory=dict)
    left: int = 0
    uses: int = 0
    received: Received | None = None


class FirstRounds:
    """One plan and one sum for all first rounds with the same cohort: they differ in their noise alone.

    Replicas with the same number draw the same cohort at every level of noise; with a sampler that takes
    everybody all replicas do. M trainings of N users are then N local trainings, one sum, and M draws of
    noise, where planning and adding up would take M N steps. Attackers, and users that draw noise of their
    own, share nothing.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, bytes], _Known] = {}
        self._by_plan: dict[int, _Known] = {}
        # Of each algorithm, by its identity, what its rows depend on.
        self._about: dict[int, tuple[Algorithm, Hashable]] = {}

    def next_call(self) -> None:
        """Keeps of each algorithm the cohort that was drawn last, and forgets the others."""
        last = {about: (about, cohort) for about, cohort in self._known}
        self._known = {key: self._known[key] for key in last.values()}
        self._by_plan = {
            id(plan): known for known in self._known.values() for _, plan in known.plans.values()
        }
        for known in self._known.values():
            known.left = 0

    def plan(
        self, algorithm: Algorithm, state: ServerState, roster: Roster, adversary: Adversary | None, seed: int
    ) -> Plan:
        """The plan of a training's next round: the very one of another training, where that is the same."""
        if adversary is not None or state.round > 0 or isinstance(algorithm.local, PrivateTrainer):
            return plan_round(algorithm, state, roster, adversary, seed)
        key = self._depends_on(algorithm), draw_cohort(algorithm, state, roster, seed).tobytes()
        known = self._known.pop(key, None) or _Known()
        self._known[key] = known  # the last one
        known.uses += 1
        known.left += 1
        if id(algorithm) not in known.plans:
            plan = self._new_plan(known, algorithm, state, roster, seed)
            known.plans[id(algorithm)] = algorithm, plan
            self._by_plan[id(plan)] = known
        return known.plans[id(algorithm)][1]

    def same_rows(self, plan: Plan) -> int:
        """A number that plans have in common if their rows are added up once; another for any other plan."""
        return id(self._by_plan.get(id(plan), plan))

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
        known.left -= 1
        own = replace(known.received, total=copy.deepcopy(known.received.total))
        # Sums are as large as models, and of a block's cohorts only the last is kept for the next block.
        if known.left == 0 and known is not next(reversed(self._known.values())):
            known.received = None
        return own

    def clear(self) -> None:
        """Forgets everything."""
        self._known.clear()
        self._by_plan.clear()
        self._about.clear()

    def _new_plan(
        self, known: _Known, algorithm: Algorithm, state: ServerState, roster: Roster, seed: int
    ) -> Plan:
        if not known.plans:
            return plan_round(algorithm, state, roster, None, seed)
        _, plan = next(iter(known.plans.values()))
        return replace(plan, event=algorithm.round_event(roster.num_users, state.round))

    def _depends_on(self, algorithm: Algorithm) -> Hashable:
        """All that the cohort, its jobs and the sum of its rows follow from: the noise is none of it."""
        if id(algorithm) not in self._about:
            self._about[id(algorithm)] = algorithm, _all_but_noise(algorithm)
        return self._about[id(algorithm)][1]


def _all_but_noise(algorithm: Algorithm) -> Hashable:
    """The algorithm's fields, as values, without its mechanism; its identity where that cannot be done."""
    # Exact noise cuts rows to its own grid.
    if algorithm.exact:
        return id(algorithm)
    parts = tuple((name, part) for name, part in vars(algorithm).items() if name != "mechanism")
    try:
        hash(parts)
    except TypeError:
        return id(algorithm)
    return parts
