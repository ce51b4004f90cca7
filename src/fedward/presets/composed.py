"""An algorithm composed in the file: every part by its name."""

from __future__ import annotations

from fedward.clipping import FlatNorm
from fedward.core.algorithm import Algorithm
from fedward.core.types import (
    Aggregator,
    ClipPolicy,
    LocalTrainer,
    Mechanism,
    Sampler,
    ServerOptimizer,
)
from fedward.server import ServerStep


def composed(
    *,
    sampler: Sampler,
    local: LocalTrainer,
    policy: ClipPolicy,
    aggregator: Aggregator,
    mechanism: Mechanism,
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """Any parts together: the place for an aggregator, a mechanism or a clip policy of one's own.

        w ← w + server(mechanism(aggregator(clip(Δ_1), ..., clip(Δ_n))))

    Guarantee: what the parts declare. With ``mean`` and ``gaussian`` it is that of ``user_dp_fedavg``; an
    aggregator without a sensitivity takes no noise and has no ε. Updates are clipped as a whole.

    Args:
      policy: how long an update may be, and how that moves from round to round.
      aggregator: how the updates of a round are combined. A rule that sees all of them at once goes with
        ``robust``.
      mechanism: the noise on what comes out, and what it costs.
    """
    return Algorithm(
        name="composed",
        sampler=sampler,
        local=local,
        norm=FlatNorm(),
        policy=policy,
        aggregator=aggregator,
        mechanism=mechanism,
        server=server or ServerStep(),
    )
