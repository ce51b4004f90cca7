"""The trainings of groups of users: each as the experiment says, as if nobody else were there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fedward.base.validate import InvalidValue, add_to_errors
from fedward.certificates.others import DisjointGroups, Groups
from fedward.certificates.others.other_setting import NO_EPSILON
from fedward.core.algorithm import Algorithm
from fedward.core.roster import Roster
from fedward.privacy.accounting_events import NonPrivateDpEvent
from fedward.privacy.ledger import Ledger
from fedward.privacy.terms import Terms
from fedward.sampling.some_users import SomeUsersSampler
from fedward.studies.training.setup import Setup


@dataclass(frozen=True, kw_only=True)
class GroupTrainings:
    """Which users each training has.

    Args:
      by: how they are put into groups.
      names: what the users are called.
      seed: of the experiment.
    """

    by: Groups
    names: tuple[str, ...]
    seed: int

    @classmethod
    def of(cls, by: Groups, setup: Setup) -> GroupTrainings:
        """Those of an experiment; what would reach over the groups is refused."""
        require_apart(setup)
        names = np.asarray(setup.federation.names)
        if not isinstance(by, DisjointGroups):
            by.require_fits(setup.federation.num_users)
        made = cls(by=by, names=tuple(map(str, names.tolist())), seed=setup.experiment.seed)
        with add_to_errors("each group trains as the experiment says: "):
            made.algorithm(setup, 0, "")
        return made

    def members(self, replica: int, draw: str) -> tuple[int, ...]:
        """The users of one training, ascending."""
        if isinstance(self.by, DisjointGroups):
            return _disjoint(self.by, self.names, self.seed)[replica]
        return self.by.members(replica, len(self.names), self.seed, draw)

    def algorithm(self, setup: Setup, replica: int, draw: str) -> Algorithm:
        """The experiment's algorithm for the users of one training.

        It is made for their number alone: a constant that followed the number of all users, as the divisor of
        a mean may, would change in every group when somebody joins one of them.
        """
        users = self.members(replica, draw)
        own = setup.experiment
        alone = own.model_copy(update={"privacy": own.privacy.model_copy(update={"users": None})})
        # A group without users has a model too: the one that it began with.
        made = alone.make_algorithm(_roster(setup, users or (0,)), setup.model)
        sampler = SomeUsersSampler(users=users, among=made.sampler)
        return replace(made, sampler=sampler, public=setup.algorithm.public)


def require_apart(setup: Setup) -> None:
    """Refuses an experiment in which users of one group would reach another."""
    if setup.attack is not None:
        raise InvalidValue("groups are certified from trainings without attackers, got an [attack] table")
    if setup.algorithm.root_user is not None:
        raise InvalidValue(
            f"groups must have nobody in common, got {setup.algorithm.aggregator}, whose root user is in all"
        )
    if setup.algorithm.accounting == "users":
        raise InvalidValue(f"groups are for rules of a server, got {setup.algorithm.name}")
    if setup.experiment.privacy.budget is not None:
        raise InvalidValue("groups have no ε, and so no budget: leave out privacy.budget")


def group_ledger(setup: Setup) -> Ledger:
    """The ledger of one group's training: how many rounds there were, and that nothing is promised."""
    ledger = Ledger(
        unit="user",
        adjacency="add/remove",
        noise_source="seeded",
        terms=Terms(public=setup.algorithm.declared_public),
        reason=NO_EPSILON,
    )
    return ledger.charged(NonPrivateDpEvent(), setup.experiment.rounds)


def _roster(setup: Setup, users: tuple[int, ...]) -> Roster:
    whole, chosen = setup.federation.roster, np.array(users)
    return replace(whole, names=np.asarray(whole.names)[chosen], sizes=whole.sizes[chosen])


@lru_cache(maxsize=4)
def _disjoint(by: DisjointGroups, names: tuple[str, ...], seed: int) -> tuple[tuple[int, ...], ...]:
    return by.members(list(names), seed)
