"""An algorithm: a composition of parts, and what they declare about privacy together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dp_accounting import DpEvent, GaussianDpEvent, NonPrivateDpEvent
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
        if self.noise.multiplier > 0 and self.aggregator.sensitivity(1.0, "add/remove") is None:
            raise InvalidValue(
                f"noise needs an aggregator with a sensitivity to scale it by, got {self.aggregator}"
            )
        if self.noise.multiplier > 0 and not math.isfinite(self._bound(self.policy.init())):
            raise InvalidValue("noise needs clipped updates, got a policy without a bound")

    @property
    def unproven(self) -> str:
        """Why this algorithm has no ε; empty if it has one."""
        if self.noise.multiplier == 0:
            return "no noise is added"
        return self.policy.unproven

    @property
    def event(self) -> GaussianDpEvent | NonPrivateDpEvent:
        """What one round does to the users that were sampled."""
        if self.unproven:
            return NonPrivateDpEvent()
        # The ratio of sensitivities is exactly 1 or 1/2: the event keeps the multiplier to the last bit.
        return GaussianDpEvent(
            self.noise.multiplier
            * (self._sensitivity("add/remove") / self._sensitivity(self.sampler.adjacency))
        )

    def round_event(self, num_users: int) -> DpEvent:
        """What one round does to all users: the event of the cohort, amplified by its sampling."""
        return self.event if self.unproven else self.sampler.amplify(self.event, num_users)

    def guarantee(self, num_users: int, rounds: int, delta: float, accountant: str) -> Guarantee:
        """What so many rounds spend; known before any of them."""
        return self._new_ledger().charged(self.round_event(num_users), rounds).guarantee(delta, accountant)

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
            ledger=self._new_ledger(),
        )

    def _new_ledger(self) -> Ledger:
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

    def _bound(self, policy: tuple[float, ...]) -> float:
        # A policy that reads the round's norms has a bound once it has seen some.
        return 1.0 if self.policy.reads_norms else total_bound(self.policy.bound(policy, None))


def total_bound(bounds: Bounds) -> float:
    """The L2 norm that a row clipped group by group cannot exceed: sqrt(sum of S_l²)."""
    return math.hypot(*bounds)
