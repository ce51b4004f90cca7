"""What one round does to all users: the event that a server reserves before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dp_accounting import DpEvent, GaussianDpEvent, NonPrivateDpEvent, NoOpDpEvent, SelfComposedDpEvent

from fedward.base.validate import InvalidValue
from fedward.core.epochs import first_of_epoch
from fedward.core.looks import look_moves
from fedward.core.types import Cohorts, EpochSampler
from fedward.privacy.aggregate import aggregate_event
from fedward.privacy.events import fold
from fedward.privacy.spending import is_sampled, mechanisms, without_sampling

if TYPE_CHECKING:
    from fedward.core.algorithm import Algorithm


def event_of_round(algorithm: Algorithm, num_users: int, round: int, again: bool) -> DpEvent:
    """See ``Algorithm.round_event``."""
    looks = algorithm.looks(round)
    sampler = algorithm.sampler_of(round)
    if algorithm.unproven:
        return NonPrivateDpEvent()
    if algorithm.accounting == "aggregate":
        return aggregate_event(algorithm.protector.local_event(round), sampler.expected_size(num_users))
    moves = look_moves(algorithm.policy, algorithm.sampler.adjacency) if looks else 1.0
    if algorithm.accounting == "users":
        if not looks:
            return NoOpDpEvent()
        return sampler.amplify(GaussianDpEvent(fold(*looks) / moves), num_users)
    covered = algorithm.mechanism.whole_training
    if covered is not None and round >= covered:
        raise InvalidValue(f"round must be below {covered}, which {algorithm.mechanism} covers, got {round}")
    if covered is not None and round > 0 and not again:
        return NoOpDpEvent()
    together = covered is not None or isinstance(algorithm.sampler, EpochSampler)
    # Done again, a round shows coins that were charged in the first round of its epoch.
    charged = first_of_epoch(algorithm.sampler, round) if again else round
    unit = {side: algorithm.unit_sensitivity(side) for side in ("add/remove", algorithm.sampler.adjacency)}
    cohorts = Cohorts(
        sampler=algorithm.sampler_of(charged), num_users=num_users, looks=tuple(z / moves for z in looks)
    )
    event = algorithm.mechanism.event(unit["add/remove"] / unit[algorithm.sampler.adjacency], cohorts)
    if again and together and is_sampled(mechanisms([(event, 1)])):
        # Two releases of a round show the same coins of earlier rounds: nothing is gained from drawing,
        # neither in what was charged before nor in what goes on.
        return SelfComposedDpEvent(without_sampling(event), 2)
    return event
