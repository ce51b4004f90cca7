"""The claim that an audit is about: what the experiment's ledger promises, and the worlds it keeps apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from fedward.auditing.level_model import CanaryData, canary_federation, level_model
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.watched_rounds import World
from fedward.backends.protocol import Backend
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.caveats import add_caveat
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.studies.training.setup import Setup, prepare


@dataclass(frozen=True, kw_only=True)
class Change:
    """What takes the place of what the file makes: nothing, but where audits themselves are tested.

    Args:
      algorithm: of every algorithm.
      backend: of every backend.
    """

    algorithm: Callable[[Algorithm], Algorithm] = lambda algorithm: algorithm
    backend: Callable[[Backend], Backend] = lambda backend: backend


UNCHANGED = Change()

FEATURES = 4
"""Inputs of the model that users train who protect themselves, where one of them has a canary."""


@dataclass(frozen=True, kw_only=True)
class AuditedClaim:
    """An experiment made ready, what it claims, and its neighbours, which the file itself makes.

    Args:
      setup: the experiment.
      rounds: that are claimed: those a budget covers.
      change: what is done to what the file makes.
    """

    setup: Setup
    rounds: int
    change: Change = UNCHANGED

    @property
    def algorithm(self) -> Algorithm:
        return self.change.algorithm(self.setup.algorithm)

    @property
    def ledger(self) -> Ledger:
        """What so many rounds spend."""
        return self.algorithm.spent(self.setup.federation.num_users, self.rounds)

    @property
    def guarantee(self) -> Guarantee:
        """What is claimed."""
        return add_caveat(
            guarantee_or_rdp(self.ledger, self.setup.delta, self.setup.accountant), self.setup.caveat
        )

    @property
    def family(self) -> NoiseFamily:
        """The claimed events with other amounts of noise."""
        ledger = self.ledger
        return NoiseFamily.of(ledger.spending, ledger.adjacency, self.setup.delta)

    def make(self, federation: Federation, model: nn.Module) -> World:
        """What the file makes of some data; what does not fit is refused."""
        experiment = self.setup.experiment
        algorithm = self.change.algorithm(experiment.make_algorithm(federation, model))
        check_setup(algorithm, model, federation.roster, rounds=experiment.rounds)
        return World(
            algorithm=algorithm,
            roster=federation.roster,
            parameters=ParameterSpec.of(model).flatten(model),
        )

    def backend(self, backend: Backend) -> Backend:
        """The backend of a stage."""
        return self.change.backend(backend)

    def lacking(self) -> Federation:
        """The federation without its last user; the same where the number of users is public."""
        federation = self.setup.federation
        return federation if self.ledger.adjacency != "add/remove" else without_last_user(federation)

    def canary_data(self) -> tuple[Federation, Federation, nn.Module]:
        """Data of users that protect themselves, with a canary and without, and a model to train."""
        federation, adjacency = self.setup.federation, self.ledger.adjacency
        kind = {"local": "opposite"}.get(adjacency, "nothing")
        made = [
            canary_federation(
                federation.sizes,
                federation.names,
                FEATURES,
                CanaryData(
                    users=(federation.num_users - 1,),
                    contents=(content,),  # type: ignore[arg-type]  # one of its three words
                    added=adjacency == "add/remove",
                    whole_user=adjacency == "local",
                ),
            )
            for content in ("canary", kind)
        ]
        return made[0], made[1], level_model(FEATURES)


def plan_claim(
    experiment: Experiment, data_dir: Path | None = None, change: Change = UNCHANGED
) -> AuditedClaim:
    """Loads the data and makes every part; what claims nothing cannot be audited."""
    if experiment.attack is not None:
        raise InvalidValue(
            "an audit needs an experiment without an [attack] table, got one with it; take it out with "
            "--set attack="
        )
    setup = prepare(experiment, data_dir)
    if setup.algorithm.noise_source == "system":
        raise InvalidValue(
            "audits are simulated and need seeded noise, got system entropy; "
            "--set algorithm.noise_source=seeded audits the same mechanism"
        )
    rounds = claimed_rounds(setup)
    claim = AuditedClaim(setup=setup, rounds=rounds, change=change)
    promised = claim.guarantee
    if not promised.private:
        raise InvalidValue(f"an audit needs an ε to test, got none: {promised.reason}")
    if not promised.proven:
        raise InvalidValue(
            "an audit needs a guarantee to test, got the papers' figure, which is none; choose another "
            "accountant with --set privacy.accountant=rdp"
        )
    if (
        claim.ledger.adjacency == "add/remove"
        and claim.ledger.unit == "user"
        and setup.federation.num_users < 2
    ):
        raise InvalidValue("a user can be taken out of a federation of 2 users at least, got 1")
    return claim


def claimed_rounds(setup: Setup) -> int:
    """How many rounds the budget covers; all of them without one."""
    experiment, users = setup.experiment, setup.federation.num_users
    budget = experiment.make_budget(setup.algorithm, setup.federation)
    if budget is None:
        return experiment.rounds
    low, high = 1, experiment.rounds
    while low < high:
        middle = (low + high + 1) // 2
        fits = budget.covers(setup.algorithm.spent(users, middle), middle)
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def without_last_user(federation: Federation) -> Federation:
    """The same federation with one user less.

    >>> federation = Federation.from_arrays([[0.1], [0.2], [0.3]], [0, 1, 0], [5, 6, 6])
    >>> without_last_user(federation).num_users
    1
    """
    rest = int(federation.offsets[-2])
    return replace(
        federation,
        examples=federation.examples.span(0, rest),
        offsets=federation.offsets[:-1],
        names=federation.names[:-1],
    )


def with_more_users(federation: Federation, count: int) -> Federation:
    """The same federation with so many users more, who own a copy of its first example each."""
    examples = len(federation.examples)
    index = torch.cat([torch.arange(examples), torch.zeros(count, dtype=torch.int64)])
    ends = federation.offsets[-1] + torch.arange(1, count + 1)
    called = [f"canary {number}" for number in range(count)]
    return replace(
        federation,
        examples=federation.examples.select(index),
        offsets=torch.cat([federation.offsets, ends]),
        names=np.array([*map(str, federation.names.tolist()), *called], dtype=object),
    )
