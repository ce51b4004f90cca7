"""Scores of whole trainings: the exact likelihood ratio of the claim, and some that are learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fedward.attacks.inference.auc import Floats
from fedward.auditing.learned_score import DensityScore, LinearScore
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.seen_trainings import SeenTrainings

LOOKS = "look at norms"
"""The table of what clip bounds show: for each round, how much likelier that is with the canary drawn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scorer:
    """A score for trainings, learned from some of them.

    Args:
      name: of the score.
      densities: learned scores by the table that they read.
      laws: of each round, for the exact likelihood ratio of the first table and of looks; empty without one.
      linear: puts several together; None where there is one.
    """

    name: str
    first: str
    laws: tuple[RoundLaw, ...] = ()
    densities: Mapping[str, DensityScore]
    linear: LinearScore | None = None

    @property
    def exact(self) -> bool:
        """Whether nothing of it was learned."""
        return bool(self.laws) and not self.densities

    def __call__(self, seen: SeenTrainings) -> Floats:
        columns = []
        if self.laws:
            columns.append(exact_log_ratio(self.laws, seen, self.first))
        columns += [score(seen.tables[name]) for name, score in self.densities.items()]
        if self.linear is None:
            return columns[0]
        columns += [table.sum(axis=1) for table in seen.tables.values()]
        return self.linear(np.stack(columns, axis=1))


def exact_log_ratio(laws: tuple[RoundLaw, ...], seen: SeenTrainings, first: str) -> Floats:
    """The logarithm of the likelihood ratio of whole trainings, by the claimed laws of their rounds."""
    found, table = np.zeros(len(seen)), seen.tables[first]
    looks = seen.tables.get(LOOKS, np.zeros_like(table))
    for law, column, shown in zip(laws, table.T, looks.T, strict=True):
        found += law.log_ratio(column, shown)
    return found


def learn_scores(seen: SeenTrainings, first: str, laws: tuple[RoundLaw, ...]) -> Iterator[Scorer]:
    """Candidates: the exact ratio if the claim gives one, one for each table, and all together."""
    inside, outside = seen.inside, ~seen.inside
    densities = {name: DensityScore.learn(t[inside], t[outside]) for name, t in seen.tables.items()}
    if laws:
        yield Scorer(name="exact likelihood ratio", first=first, laws=laws, densities={})
    for name, score in densities.items():
        yield Scorer(name=f"learned from the {name}", first=first, densities={name: score})
    columns = [Scorer(name="", first=first, densities={name: each})(seen) for name, each in densities.items()]
    if laws:
        columns.insert(0, exact_log_ratio(laws, seen, first))
    columns += [table.sum(axis=1) for table in seen.tables.values()]
    features = np.stack(columns, axis=1)
    linear = LinearScore.learn(features[inside], features[outside])
    yield Scorer(
        name="learned from all that is seen", first=first, laws=laws, densities=densities, linear=linear
    )
