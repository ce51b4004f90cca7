"""The stage whose last model alone is seen: real data, real training, and a canary with wrong labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.auditing.watched_rounds import DRAW
from fedward.backends.protocol import Backend
from fedward.base.randomness import stream
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Bounds, Knowledge, LocalTrainer, ServerState, Sight
from fedward.local.sgd import SGD
from fedward.lockstep.lockstep import Lockstep, Training

LOSS = "loss on the canary"


@dataclass(frozen=True)
class Silent:
    """An adversary that is one user from which nothing comes: its contribution is taken out."""

    user: int

    knowledge: Knowledge = "own"
    needs_all_rows: bool = False
    rounds: tuple[int, ...] | None = None
    per_cohort: int | None = None

    @property
    def users(self) -> frozenset[int]:
        return frozenset({self.user})

    def poison(self, user: int, examples: Examples, round: int, rng: np.random.Generator) -> None:
        return None

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        return trainer

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class BlackBoxStage:
    """Trainings with a canary and without it, in lockstep: equal local trainings run once.

    Args:
      model: with the initial weights that are crafted: those fit everybody's data but the canary's.
      algorithms: of the world with the canary, and of that without it.
      data: of both.
      backends: of both.
      canary: what the last model is asked about: its loss there.
      silent: whether nothing comes from the canary's user in the second world, instead of its being gone.
      rounds, seed: of the trainings.
    """

    model: nn.Module
    algorithms: tuple[Algorithm, Algorithm]
    data: tuple[Federation, Federation]
    backends: tuple[Backend, Backend]
    canary: Examples
    silent: bool
    rounds: int
    seed: int

    tables = (LOSS,)
    laws = ()

    def show(self, inside: Sequence[bool], first: int) -> Iterator[dict[str, NDArray[np.float64]] | None]:
        """Trains so many; yields None after every round of each world, and at last what was seen."""
        losses = np.zeros((len(inside), 1))
        for world, there in enumerate((True, False)):
            places = [number for number, each in enumerate(inside) if each == there]
            user = self.data[world].num_users - 1
            trainings = [
                Training(
                    algorithm=self.algorithms[world],
                    rounds=self.rounds,
                    replica=first + place,
                    draw=DRAW,
                    adversary=Silent(user) if self.silent and not there else None,
                )
                for place in places
            ]
            together = Lockstep(self.model, self.data[world], self.backends[world], seed=self.seed)
            states: Sequence[ServerState] = together.start(trainings)
            for _ in range(self.rounds):
                states = [state for state, _ in together.round(trainings, states)]
                yield None
            for place, state in zip(places, states, strict=True):
                losses[place] = self.backends[world].evaluate(state.parameters, self.canary).loss
        yield {LOSS: losses}


def craft_weights(model: nn.Module, examples: Examples, seed: int, epochs: int = 20) -> nn.Module:
    """Trains a model on everybody's data, without privacy: what is left to learn is the canary.

    Annamalai and De Cristofaro 2024.
    """
    flat = FlatModule(model)
    sgd = SGD(learning_rate=0.1, batch_size=32, epochs=epochs)
    sgd.at_round(0, ()).train(flat, examples, stream(seed, "canary", user=0))
    ParameterSpec.of(model).load(model, flat.parameters)
    return model


def craft_canary(federation: Federation, whole_user: bool) -> tuple[Federation, Examples]:
    """The federation whose last user has an input with a wrong label, alone or beside its own; and that.

    >>> federation = Federation.from_arrays([[0.1], [0.2], [0.3]], [0, 1, 1], [5, 6, 6])
    >>> crafted, canary = craft_canary(federation, whole_user=True)
    >>> crafted.user(1).y.tolist(), canary.y.tolist()
    ([0, 0], [0])
    """
    start, stop = int(federation.offsets[-2]), int(federation.offsets[-1])
    place = stop - 1
    wrong = (int(federation.examples.y[place]) + 1) % federation.num_classes
    index, y = torch.arange(stop), federation.examples.y.clone()
    changed = torch.arange(start, stop) if whole_user else torch.tensor([place])
    index[changed], y[changed] = place, wrong
    chosen = federation.examples.select(index)
    crafted = replace(federation, examples=Examples(chosen.x, y))
    return crafted, crafted.examples.select(torch.tensor([place]))


def without_last_example(federation: Federation) -> Federation:
    """The same federation with one example of its last user less."""
    last = len(federation.examples) - 1
    offsets = federation.offsets.clone()
    offsets[-1] = last
    return replace(federation, examples=federation.examples.span(0, last), offsets=offsets)


def is_text(federation: Federation) -> bool:
    """Whether examples are sequences."""
    return isinstance(federation.examples.x, Ragged)
