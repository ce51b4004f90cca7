"""DP-FTRL with banded matrices: correlated noise, for users that take part as they can and not too often."""

from __future__ import annotations

from typing import Literal, get_args

from fedward.aggregation import Mean
from fedward.base.randomness import Source
from fedward.base.validate import InvalidValue, one_of, rate, whole
from fedward.clipping import FixedBound, FlatNorm
from fedward.core.algorithm import Algorithm
from fedward.core.types import LocalTrainer, Mechanism, ServerOptimizer
from fedward.mechanisms.banded_noise import BandedNoise
from fedward.mechanisms.banded_strategy import Workload
from fedward.mechanisms.buffered_noise import BufferedNoise
from fedward.presets.noisy_mean import expected_cohort
from fedward.privacy.participation import Participation
from fedward.sampling.taking_turns import TakingTurns
from fedward.server import ServerMomentum, ServerStep

Strategy = Literal["banded", "blt"]

STRATEGIES: tuple[str, ...] = get_args(Strategy)

_USUAL_BUFFERS = 3


def dp_ftrl(
    *,
    num_users: int,
    local: LocalTrainer,
    rounds: int,
    separation: int,
    noise_multiplier: float,
    clip_bound: float,
    strategy: Strategy = "banded",
    bands: int | None = None,
    buffers: int | None = None,
    decays: tuple[float, ...] | None = None,
    participations: int | None = None,
    there: float = 1.0,
    amplified: bool = False,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """User-level DP federated averaging with noise that is correlated over rounds (DP-FTRL).

        x_t = (1 / m̄) Σ_i clip(Δ_i, S) + (C^-1 z)_t,    z_t ~ N(0, (z ‖c‖ S / m̄)² I),    w ← server(w, x_t)

    Guarantee: user-level (ε, δ) for one user added or removed, of a Gaussian with multiplier z / √r for a
    whole training, charged before its first round. It rests on the schema of participation that the server
    keeps, not on chance: who takes part may be known to everybody. With ``amplified`` it rests on secret
    coins as well, and is that of r Gaussians sampled with probability ``there``.

    Args:
      num_users: the declared number of users N; m̄ = N there / separation.
      rounds: T: how many rounds the training may have; all are charged at its start.
      separation: how many rounds lie between two participations of a user at least. Users are dealt into so
        many groups, which take turns.
      noise_multiplier: z: the noise for each unit by which one participation of a user moves what is noised.
      strategy: ``banded``: noise is shared by so many rounds. ``blt``: by all rounds, through a few buffers
        that decay, for long trainings; not with ``amplified``.
      bands: b: how many rounds share noise, at most ``separation``; as many as that if not given. With 1
        every round has noise of its own.
      buffers: how many buffers ``blt`` has, at most 6; 3 if not given. Each is one vector in memory.
      decays: λ of each buffer of ``blt``; the best ones if not given.
      participations: r: how often a user takes part at most; T / separation, rounded up, if not given.
      there: the share of a group that is there in its round.
      amplified: whether ``there`` is a secret coin of the server, which ε counts on.
      server: what the server does with the mean; noise is made for its momentum and decay.

    Kairouz et al. 2021; Choquette-Choo et al. 2023; McMahan, Xu and Zhang 2024 for ``blt``.
    """
    _check_strategy(strategy, bands, buffers, decays, amplified)
    whole("rounds", rounds)
    whole("separation", separation)
    most = -(-rounds // separation) if participations is None else whole("participations", participations)
    if most * separation < rounds:
        raise InvalidValue(
            f"rounds must be at most participations times separation, {most} x {separation}, or nobody may "
            f"take part in the last ones, got {rounds}"
        )
    if amplified and rate("share of a group that is there", there) == 1:
        raise InvalidValue("there must be below 1 where noise is amplified by drawing users, got 1.0")
    turns = TakingTurns(separation=separation, most=most, there=there, secret=amplified)
    momentum, decay = (
        (server.momentum, server.learning_rate_decay) if isinstance(server, ServerMomentum) else (0.0, 1.0)
    )
    workload = Workload(rounds=rounds, momentum=momentum, decay=decay)
    schema = Participation(most=most, separation=separation)
    mechanism: Mechanism
    if strategy == "blt":
        mechanism = BufferedNoise(
            noise_multiplier=noise_multiplier,
            workload=workload,
            participation=schema,
            buffers=buffers or (_USUAL_BUFFERS if decays is None else len(decays)),
            decays=None if decays is None else tuple(decays),
            source=noise_source,
        )
    else:
        mechanism = BandedNoise(
            noise_multiplier=noise_multiplier,
            workload=workload,
            bands=min(separation, rounds) if bands is None else bands,
            participation=schema,
            source=noise_source,
        )
    return Algorithm(
        name="dp_ftrl",
        sampler=turns,
        local=local,
        norm=FlatNorm(),
        policy=FixedBound(clip_bound=clip_bound),
        aggregator=Mean(expected_cohort=expected_cohort(turns, num_users)),
        mechanism=mechanism,
        server=server or ServerStep(),
    )


def _check_strategy(
    strategy: str,
    bands: int | None,
    buffers: int | None,
    decays: tuple[float, ...] | None,
    amplified: bool,
) -> None:
    """Refuses keys of the other strategy, and coins that nothing is gained from."""
    one_of("strategy", strategy, STRATEGIES)
    if strategy == "blt":
        if bands is not None:
            raise InvalidValue(f"bands belong to the strategy banded, got {bands} with blt; use buffers")
        if amplified:
            raise InvalidValue(
                "amplified needs the strategy banded: nothing is proven for coins that show in overlapping "
                "rounds, got blt"
            )
        if buffers is not None:
            whole("buffers", buffers)
    elif buffers is not None or decays is not None:
        raise InvalidValue("buffers and decays belong to the strategy blt, got them with banded; use bands")
