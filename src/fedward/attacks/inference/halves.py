"""Random halves of a federation to train on, drawn so that bounds from privacy apply to attacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from fedward.attacks.inference.auc import Bools
from fedward.attacks.inference.streams import stream_of
from fedward.base.validate import InvalidType, InvalidValue, one_of, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Backend, Job, Row
from fedward.privacy.guarantee import UNITS, Unit

# With fewer, a half may be empty and no rate means anything.
LEAST_CANDIDATES = 20


@dataclass(frozen=True, kw_only=True)
class Halves:
    """Draws for each training which records it sees.

    An *example* is in or out by a fair coin of its own; one example of each user, chosen beforehand, is
    always in, so that no user vanishes, and nothing is asked about it. A *user* is in or out by a fair coin;
    with ``exact`` one half of all users is drawn instead. Shadow trainings come in pairs: what one sees the
    other does not, so that each record is in half of them.

    Guarantee: given everything else that was drawn for a target, its law with and without one record are
    those of neighbours: one record more or less, or with ``exact`` one user in another's place.

    Args:
      unit: what is in or out.
      seed: of all draws.
      exact: exactly half of the users, for guarantees about users that are replaced.

    >>> rng = np.random.default_rng(0)
    >>> federation = Federation.from_arrays(rng.random((60, 2)), np.zeros(60, int), np.arange(60) // 3)
    >>> halves = Halves(unit="user", seed=1, exact=True)
    >>> half = Half.of(federation, "user", halves.target(federation, 0))
    >>> half.federation.num_users, half.users[:4].tolist()
    (10, [1, 4, 5, 7])

    Steinke, Nasr and Jagielski 2023 for coins; Carlini et al. 2022 for shadows that see half of everything.
    """

    unit: Unit
    seed: int
    exact: bool = False

    def __post_init__(self) -> None:
        one_of("unit", self.unit, UNITS)
        whole("seed", self.seed, at_least=0)
        if self.exact and self.unit == "example":
            raise InvalidValue("exact halves are of users, got unit 'example'")

    def candidates(self, federation: Federation) -> Bools:
        """The records that are asked about: users, or examples but one of each user."""
        if self.unit == "user":
            found = np.ones(federation.num_users, dtype=np.bool_)
        else:
            found = np.ones(len(federation.examples), dtype=np.bool_)
            places = stream_of(self.seed, "anchors").random(federation.num_users)
            sizes, starts = federation.sizes.numpy(), federation.offsets.numpy()[:-1]
            found[starts + (places * sizes).astype(np.int64)] = False
        count = int(found.sum())
        if count < LEAST_CANDIDATES:
            why = "" if self.unit == "user" else ", besides one of each user that is always trained on"
            raise InvalidValue(
                f"membership inference needs at least {LEAST_CANDIDATES} {self.unit}s to ask about{why}, "
                f"got {count}"
            )
        return found

    def target(self, federation: Federation, number: int) -> Bools:
        """Which records the attacked training of this number sees."""
        return self._draw_inside(federation, stream_of(self.seed, "target half", number))

    def shadow(self, federation: Federation, number: int) -> Bools:
        """Which records a shadow training sees: 2i + 1 sees what 2i does not."""
        drawn = self._draw_inside(federation, stream_of(self.seed, "shadow half", number // 2))
        return drawn if number % 2 == 0 else ~(drawn & self.candidates(federation))

    def _draw_inside(self, federation: Federation, rng: np.random.Generator) -> Bools:
        candidates = self.candidates(federation)
        if not self.exact:
            return ~candidates | (rng.random(len(candidates)) < 0.5)
        inside = np.zeros(len(candidates), dtype=np.bool_)
        inside[rng.choice(len(candidates), size=len(candidates) // 2, replace=False)] = True
        return inside


@dataclass(frozen=True, kw_only=True, eq=False)
class Half:
    """A federation of some of the records of another: ``users[u]`` is the number that user u has there."""

    unit: Unit
    federation: Federation
    users: np.ndarray[tuple[int], np.dtype[np.int64]]

    @classmethod
    def of(cls, federation: Federation, unit: Unit, inside: Bools) -> Half:
        """Keeps the users, or the examples, of which ``inside`` is true; a user without any is left out."""
        one_of("unit", unit, UNITS)
        records = federation.num_users if unit == "user" else len(federation.examples)
        if inside.dtype != np.bool_:
            raise InvalidType(f"records inside must be true or false, got an array of {inside.dtype}")
        if inside.shape != (records,):
            raise InvalidValue(
                f"records inside must be one for each of {records} {unit}s, got shape {inside.shape}"
            )
        if not inside.any():
            raise InvalidValue(f"a half must hold at least one {unit}, got 0")
        owner = np.repeat(np.arange(federation.num_users), federation.sizes.numpy())
        kept = inside[owner] if unit == "user" else inside
        users, counts = np.unique(owner[kept], return_counts=True)
        part = replace(
            federation,
            examples=federation.examples.select(torch.from_numpy(np.flatnonzero(kept))),
            offsets=torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
            names=federation.names[users],
        )
        return cls(unit=unit, federation=part, users=users)


class HalfBackend:
    """Trains the users of a half with a backend that was made for the whole: its workers go on from one
    training to the next.

    Rows have the same bits as those of a backend of the half's own.
    """

    def __init__(self, backend: Backend, half: Half) -> None:
        self._backend, self._half = backend, half
        # Workers know data by its identity: a user's examples must stay the same object to be sent once.
        self._own: dict[int, Examples] = {}

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        asked = list(jobs)
        for job, row in zip(asked, self._backend.train(map(self._as_job_of_whole, asked)), strict=True):
            yield Row(job.user, row.update, row.norm)

    def _as_job_of_whole(self, job: Job) -> Job:
        user = int(self._half.users[job.user])
        if self._half.unit == "user" or job.examples is not None:
            return replace(job, user=user)
        if job.user not in self._own:
            self._own[job.user] = self._half.federation.user(job.user)
        return replace(job, user=user, version="half", examples=self._own[job.user])
