"""Membership inference as a whole: it trains the models, asks them and evaluates the attacks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.attacks.inference.evidence import scaled_confidence
from fedward.attacks.inference.halves import Half, HalfBackend
from fedward.attacks.inference.judge import Confidences, Membership, judge
from fedward.attacks.inference.trials import MembershipInference, Trial
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.train import train
from fedward.core.types import Backend, ServerState
from fedward.privacy.budget import Budget


class MeasuringBackend(Backend, Protocol):
    """A backend that also asks models about examples; all of fedward's do."""

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]: ...


def membership_inference(
    config: MembershipInference,
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    backend: MeasuringBackend,
    *,
    rounds: int,
    seed: int,
) -> Membership:
    """Trains targets and shadows one after the other and attacks the targets.

    Args:
      algorithm: any; where ``unit`` is ``user``, one that was made for half as many users as there are.
      model: gives the initial parameters of all trainings.
      federation: of which each training sees a half.
      backend: of the whole federation.
      rounds: of each training.
      seed: of everything that is drawn.

    >>> import fedward
    >>> federation = fedward.datasets.synthetic.load(users=30, examples=6, alpha=1.0, seed=0)
    >>> model = fedward.models.build("logistic_regression", input_shape=(60,), num_classes=10, seed=0)
    >>> algorithm = fedward.presets.fedavg(
    ...     sampler=fedward.EveryoneSampler(), local=fedward.SGD(learning_rate=1.0, batch_size=6, epochs=9)
    ... )
    >>> found = membership_inference(
    ...     MembershipInference(shadows=4), algorithm, model, federation,
    ...     fedward.InProcess(model, federation), rounds=3, seed=1,
    ... )
    >>> found.attacks["likelihood ratio"].auc.low > 0.5, found.limit.about
    (True, 'no guarantee: no noise is added')
    """
    found = {}
    for trial in config.trials:
        steps = train_trial(config, trial, algorithm, model, federation, backend, rounds=rounds, seed=seed)
        (last,) = deque(steps, maxlen=1)
        found[trial] = ask(backend, last.parameters, federation)
    return judge(config, algorithm, federation, found, rounds=rounds, seed=seed)


def train_trial(
    config: MembershipInference,
    trial: Trial,
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    backend: Backend,
    *,
    rounds: int,
    seed: int,
    state: ServerState | None = None,
    budget: Budget | None = None,
) -> Iterator[ServerState]:
    """One training on its half, by a backend of the whole federation; yields after every round.

    Args:
      state: where to go on: any state yielded before.
      budget: what the training may spend; it ends before the round that would overspend.
    """
    half = Half.of(federation, config.unit, trial.inside(config.halves(algorithm, seed), federation))
    rounds_of_it = train(
        algorithm,
        model,
        half.federation,
        HalfBackend(backend, half),
        rounds=rounds,
        seed=trial.seed(seed),
        state=state,
        budget=budget,
    )
    return (after for after, _ in rounds_of_it)


def ask(backend: MeasuringBackend, parameters: Tensor, federation: Federation) -> Confidences:
    """The scaled confidence of a model in every example of a federation."""
    (found,) = backend.confidences([parameters], federation.examples)
    return scaled_confidence(found[:, : federation.num_classes], federation.examples.y.numpy())
