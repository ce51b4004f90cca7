"""An algorithm: a composition of parts, and what they declare about privacy together."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from dp_accounting import ComposedDpEvent, DpEvent, GaussianDpEvent, NonPrivateDpEvent
from torch import Tensor

from fedward.core.types import (
    Aggregator,
    Bounds,
    ClipPolicy,
    LocalTrainer,
    Noise,
    Norm,
    Sampler,
    ServerOptimizer,
    ServerState,
)
from fedward.core.validate import InvalidValue, whole
from fedward.privacy.events import Adjacency
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One federated learning algorithm.

    A round draws a cohort (``sampler``), trains locally (``local``), measures and clips the updates
    (``norm``, ``policy``), combines them (``aggregator``), adds ``noise`` and steps (``server``).

    What it guarantees follows from what the parts declare: the noise multiplier of a round's event is the
    noise's standard deviation divided by the aggregator's sensitivity under the sampler's adjacency. Where
    a part has no proof there is no ε, and ``unproven`` says why.
    """

    name: str
    sampler: Sampler
    local: LocalTrainer
    norm: Norm
    policy: ClipPolicy
    aggregator: Aggregator
    noise: Noise
    server: ServerOptimizer

    def __post_init__(self) -> None:
        if self.norm.groups > 1 and not self.policy.per_group:
            raise InvalidValue(f"per-layer clipping needs a policy for several bounds, got {self.policy}")
        if self.noise.multiplier == 0:
            return
        if self.aggregator.sensitivity(1.0, "add/remove") is None:
            raise InvalidValue(f"noise needs an aggregator with a sensitivity, got {self.aggregator}")
        # A policy that reads the round's norms has a bound once it has seen some.
        first = () if self.policy.reads_norms else self.policy.bound(self.policy.init(), 0, None)
        if not math.isfinite(total_bound(first)):
            raise InvalidValue("noise needs clipped updates, got a policy without a bound")

    @property
    def unproven(self) -> str:
        """Why this algorithm has no ε; empty if it has one."""
        if self.noise.multiplier == 0:
            return "no noise is added"
        return self.policy.unproven

    def round_event(self, num_users: int, round: int) -> DpEvent:
        """What one round does to all users: the event of the cohort, amplified by its sampling.

        Where the clip policy looks at private norms the event is composed of the model's noise, first, and
        the looks; accountants fold them into one Gaussian.
        """
        if self.unproven:
            return NonPrivateDpEvent()
        # The ratio of sensitivities is exactly 1 or 1/2: the event keeps a multiplier to the last bit.
        ratio = self._sensitivity("add/remove") / self._sensitivity(self.sampler.adjacency)
        shares = [GaussianDpEvent(z * ratio) for z in (self.noise.multiplier, *self.policy.looks(round))]
        return self.sampler.amplify(shares[0] if len(shares) == 1 else ComposedDpEvent(shares), num_users)

    def guarantee(self, num_users: int, rounds: int, delta: float, accountant: str) -> Guarantee:
        """What so many rounds spend; known before any of them."""
        return self.planned_ledger(num_users, rounds).guarantee(delta, accountant)

    def planned_ledger(self, num_users: int, rounds: int) -> Ledger:
        """The ledger after so many rounds; which of them look at norms is known beforehand."""
        ledger = self.new_ledger()
        for event, same in itertools.groupby(self.round_event(num_users, t) for t in range(rounds)):
            ledger = ledger.charged(event, sum(1 for _ in same))
        return ledger

    def bounds(self, state: ServerState, norms: list[Bounds] | None) -> Bounds:
        """The round's bound for each group of the norm."""
        bounds = self.policy.bound(state.policy, state.round, norms)
        return bounds * self.norm.groups if len(bounds) == 1 else bounds

    def noise_std(self, bound: float) -> float:
        """Standard deviation of the noise on the aggregate of rows of norm at most ``bound``."""
        if self.noise.multiplier == 0:
            return 0.0
        return self.noise.multiplier * bound * self._sensitivity("add/remove")

    def init(self, parameters: Tensor, replica: int = 0) -> ServerState:
        """The state before round 0."""
        whole("replica", replica, at_least=0)
        return ServerState(
            replica=replica,
            round=0,
            parameters=parameters,
            server=self.server.init(parameters),
            policy=self.policy.init(),
            ledger=self.new_ledger(),
        )

    def new_ledger(self) -> Ledger:
        """An empty ledger about this algorithm."""
        return Ledger(
            unit="user",
            adjacency=self.sampler.adjacency,
            sampling=str(self.sampler),
            noise_source=self.noise.source,
            reason=self.unproven,
        )

    def _sensitivity(self, adjacency: Adjacency) -> float:
        """How far one user with updates of norm at most 1 can move the aggregate."""
        sensitivity = self.aggregator.sensitivity(1.0, adjacency)
        assert sensitivity is not None  # checked when the algorithm was made
        return sensitivity


def total_bound(bounds: Bounds) -> float:
    """The L2 norm that a row clipped group by group cannot exceed: sqrt(sum of S_l²)."""
    return math.hypot(*bounds)
