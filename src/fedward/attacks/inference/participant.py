"""A participant that takes a snapshot of every round and plays rounds through from the same model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from fedward.attacks.inference.holdings import Holdings
from fedward.attacks.inference.simulation import Own, drawn_users, own_part, simulated_move, trained_rows
from fedward.attacks.inference.snapshots import Features, pool_update
from fedward.attacks.inference.streams import seed_of, stream_of
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Backend, Row, ServerState


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """One round: whether the victim's data had the property, what was seen, and what was simulated.

    ``simulated`` is ``[2, simulated, features]``: without the property, and with it.
    """

    round: int
    truth: bool
    seen: Features
    simulated: Features


@dataclass(frozen=True, kw_only=True, eq=False)
class Participant:
    """An attacker among the users, and everything that it knows.

    Args:
      attacker, victim: their numbers.
      algorithm: how the server combines what it is sent.
      federation: for the number of users and their weights; nobody's data is read.
      known: examples of the attacker's own, with the property and without.
      batch: how many examples the victim trains on in a round.
      share: of them that have the property, where any has.
      simulated: rounds of each kind to play through in each round.
      features: numbers that are kept of each parameter.
      spec: of the model.
      backend: trains for the attacker.
      seed: of what the attacker draws.
    """

    attacker: int
    victim: int
    algorithm: Algorithm
    federation: Federation
    known: Holdings
    batch: int
    share: float
    simulated: int
    features: int
    spec: ParameterSpec
    backend: Backend
    seed: int

    def observe(self, before: ServerState, after: ServerState, own: Own | None, truth: bool) -> Observation:
        """What the attacker keeps of a round; ``truth`` is noted, and not looked at.

        Args:
          before, after: the round's model, which all users are sent.
          own: what the attacker sent, if it took part.
        """
        r = self.simulated
        rng = stream_of(self.seed, "auxiliary", before.round)
        batches = [self.known.drawn(self.batch, 0.0, rng) for _ in range(r)]
        batches += [self.known.drawn(self.batch, self.share, rng) for _ in range(r)]
        if others := self._others_batch:
            batches += [self.known.drawn(others, 0.0, rng) for _ in range(2 * r)]
        seeds = [seed_of(self.seed, "simulation", before.round, i) for i in range(len(batches))]
        rows = trained_rows(self.algorithm, before, self.backend, batches, seeds)
        simulated = [
            self._simulate_snapshot(before, own, rows[i], rows[2 * r :], i >= r, rng, seeds[i])
            for i in range(2 * r)
        ]
        return Observation(
            round=before.round,
            truth=truth,
            seen=self._snapshot(after.parameters - before.parameters, own, before),
            simulated=np.stack(simulated).reshape(2, r, -1),
        )

    @property
    def _others_batch(self) -> int:
        """How many examples the other users usually train on; 0 if there are no others."""
        others = np.delete(self.federation.sizes.numpy(), [self.attacker, self.victim])
        return int(np.median(others)) if len(others) else 0

    def _simulate_snapshot(
        self,
        before: ServerState,
        own: Own | None,
        victims: Row,
        pool: list[Row],
        with_property: bool,
        rng: np.random.Generator,
        seed: int,
    ) -> Features:
        """A snapshot of a round in which the victim sends ``victims`` and others what is in the pool."""
        here = set() if own is None else {self.attacker}
        users = drawn_users(
            self.algorithm,
            self.federation.num_users,
            rng,
            present=here | {self.victim} if with_property else here,
            absent={self.attacker} - here,
        )
        others = [user for user in users if user not in (self.attacker, self.victim)]
        sent = dict(zip(others, _draw_rows(pool, len(others), rng), strict=True))
        if self.victim in users:
            sent[self.victim] = victims
        if own is not None:
            sent[self.attacker] = Row(self.attacker, own.update)
            own = replace(own, cohort_examples=sum(self.federation.sizes_of(np.array(users))))
        return self._snapshot(
            simulated_move(self.algorithm, before, self.federation, sent, seed), own, before
        )

    def _snapshot(self, move: Tensor, own: Own | None, before: ServerState) -> Features:
        mine = own_part(self.algorithm, own, before)
        return pool_update(move if mine is None else move - mine, self.spec, self.features)


def _draw_rows(pool: list[Row], count: int, rng: np.random.Generator) -> list[Row]:
    """So many of the pool, each once where there are enough."""
    if count == 0:
        return []
    return [pool[place] for place in rng.choice(len(pool), size=count, replace=count > len(pool)).tolist()]
