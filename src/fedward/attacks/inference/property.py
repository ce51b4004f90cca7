"""Property inference: a participant guesses in which rounds the victim's data had a property."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from fedward.attacks.inference.dealing import require_property, two_users
from fedward.attacks.inference.holdings import Holdings
from fedward.attacks.inference.participant import Observation, Participant
from fedward.attacks.inference.property_judge import LEAST_ROUNDS, Property, judge_rounds
from fedward.attacks.inference.simulation import WatchedBackend
from fedward.attacks.inference.streams import stream_of
from fedward.base.validate import rate, whole
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train
from fedward.core.types import Backend, ServerState
from fedward.privacy.budget import Budget


@dataclass(frozen=True, kw_only=True)
class PropertyInference:
    """A participant that learns from its own data how updates look with a property, and without it.

    In every round a fair coin decides whether the victim trains on examples with the property. The attacker
    knows the model before and after a round and what it sent itself. From the same model it plays rounds
    through with auxiliary data, the victim's part with the property and without, everybody else's without,
    clipped, combined and noised as the server does it; it takes its own part out where it can. A random
    forest learns from these snapshots and is asked about those of the real rounds.

    Args:
      attacker, victim: numbers of two users.
      share: of the examples that the victim trains on in a round with the property, how many have it.
      batch: how many examples the victim trains on in a round, drawn anew each time from all that it has.
        If not given, half of what its rarer kind allows: so a classifier learns the property, and not the
        examples.
      simulated: rounds of each kind that the attacker plays through in each round.
      features: numbers that are kept of each parameter of the model.
      trees: of the forest.
      warm_up: first rounds that are not asked about.

    >>> PropertyInference(attacker=2, victim=2)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: attacker and victim must be two users, got 2 for both

    Melis, Song, De Cristofaro and Shmatikov 2019; Miao et al., section 5.3.
    """

    attacker: int = 0
    victim: int = 1
    share: float = 1.0
    batch: int | None = None
    simulated: int = 2
    features: int = 500
    trees: int = 100
    warm_up: int = 0

    def __post_init__(self) -> None:
        two_users(self.attacker, self.victim, max(self.attacker, self.victim) + 1)
        rate("share", self.share)
        for name in ("simulated", "features", "trees"):
            whole(name, getattr(self, name))
        if self.batch is not None:
            whole("batch", self.batch)
        whole("warm-up", self.warm_up, at_least=0)


def property_inference(
    config: PropertyInference,
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    has_property: Any,
    backend: Backend,
    *,
    rounds: int,
    seed: int,
    auxiliary: tuple[Examples, Any] | None = None,
) -> Property:
    """Trains, and attacks every round of it.

    Args:
      algorithm: any.
      federation: the victim must own examples with the property and without it. In Miao et al. only the
        attacker does besides: see ``deal``.
      has_property: a bool for each training example.
      backend: of the federation.
      auxiliary: examples of the attacker and their property; what it owns in the federation if not given.

    >>> import fedward
    >>> from fedward.attacks.inference.dealing import deal
    >>> digits = fedward.datasets.digits.load(users=2, seed=0)
    >>> federation, is_zero = deal(digits, digits.examples.y == 0, users=2, seed=0)
    >>> model = fedward.models.build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=0)
    >>> algorithm = fedward.presets.fedavg(
    ...     sampler=fedward.EveryoneSampler(), local=fedward.SGD(learning_rate=0.1, batch_size=20, epochs=1)
    ... )
    >>> found = property_inference(
    ...     PropertyInference(), algorithm, model, federation, is_zero,
    ...     fedward.InProcess(model, federation), rounds=12, seed=1,
    ... )
    >>> found.roc.auc.value
    1.0
    """
    observed = [
        observation
        for _, observation in property_rounds(
            config,
            algorithm,
            model,
            federation,
            has_property,
            backend,
            rounds=rounds,
            seed=seed,
            auxiliary=auxiliary,
        )
    ]
    return judge_rounds(
        algorithm, federation.num_users, observed, seed=seed, trees=config.trees, warm_up=config.warm_up
    )


def property_rounds(
    config: PropertyInference,
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    has_property: Any,
    backend: Backend,
    *,
    rounds: int,
    seed: int,
    auxiliary: tuple[Examples, Any] | None = None,
    state: ServerState | None = None,
    budget: Budget | None = None,
) -> Iterator[tuple[ServerState, Observation]]:
    """The rounds of an attacked training one after the other; it can go on from any state yielded before."""
    victim, known = check_property(config, federation, has_property, rounds=rounds, auxiliary=auxiliary)
    size = config.batch or max(1, victim.most(config.share) // 2)
    watched = WatchedBackend(backend, victim=config.victim, attacker=config.attacker)
    spec = ParameterSpec.of(model)
    if state is None:
        state = algorithm.init(spec.flatten(model), num_users=federation.num_users)
    steps = train(algorithm, model, federation, watched, rounds=rounds, seed=seed, state=state, budget=budget)
    attacker = Participant(
        attacker=config.attacker,
        victim=config.victim,
        algorithm=algorithm,
        federation=federation,
        known=known,
        batch=size,
        share=config.share,
        simulated=config.simulated,
        features=config.features,
        spec=spec,
        backend=backend,
        seed=seed,
    )

    def observed(before: ServerState) -> Iterator[tuple[ServerState, Observation]]:
        while True:
            rng = stream_of(seed, "schedule", before.round)
            truth = bool(rng.random() < 0.5)
            watched.examples = victim.drawn(size, config.share if truth else 0.0, rng)
            step = next(steps, None)
            if step is None:
                return
            after = step[0]
            yield after, attacker.observe(before, after, watched.own, truth)
            before = after

    return observed(state)


def check_property(
    config: PropertyInference,
    federation: Federation,
    has_property: Any,
    *,
    rounds: int,
    auxiliary: tuple[Examples, Any] | None = None,
) -> tuple[Holdings, Holdings]:
    """What the victim owns and what the attacker knows; refused where there is nothing to ask about."""
    two_users(config.attacker, config.victim, federation.num_users)
    whole("rounds that are asked about", rounds - config.warm_up, at_least=LEAST_ROUNDS)
    having = require_property(federation, has_property)
    victim = Holdings.of_user(federation, having, config.victim, "victim")
    if auxiliary is not None:
        return victim, Holdings.of(auxiliary[0], auxiliary[1], "auxiliary data")
    return victim, Holdings.of_user(federation, having, config.attacker, "attacker")
