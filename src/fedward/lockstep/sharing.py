"""Equal jobs: their names, and the one row that stands for all of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from fedward.core.examples import Examples, Ragged
from fedward.core.types import Backend, Job, Row
from fedward.lockstep.first_rows import FirstRows
from fedward.lockstep.row_store import RowStore

Key = Hashable


class Poisoned:
    """One copy of every content that attackers train on, however many trainings they attack.

    What one round used is there for the next. The copies are its own: what an adversary does to the data that
    it handed over, now or later, does not reach them.
    """

    def __init__(self) -> None:
        self._before: dict[bytes, Examples] = {}
        self._now: dict[bytes, Examples] = {}
        self._digests: dict[int, bytes] = {}

    def next_round(self) -> None:
        """What the round before this one did not use is let go of."""
        self._before, self._now, self._digests = self._now, {}, {}

    def of(self, job: Job) -> Job:
        """The same job on the one copy of its data."""
        if job.examples is None:
            return job
        digest = _content(job.examples)
        if digest not in self._now:
            known = self._before.get(digest)
            self._now[digest] = _copied(job.examples) if known is None else known
            self._digests[id(self._now[digest])] = digest
        return replace(job, examples=self._now[digest])

    def digest(self, examples: Examples) -> bytes:
        """What tells these examples from others; taken once for those that are held."""
        return self._digests.get(id(examples)) or _content(examples)


class Keys:
    """Names jobs so that equal jobs, and no others, have one name.

    Two jobs are equal if parameters, user, data, local trainer with its current bound and learning rate, and
    local seed are. Parameters and poisoned data are compared by content. A job that draws DP randomness is
    equal to none, not even to itself in another replica.

    Args:
      distinct: calls no two jobs equal.
      poisoned: holds the data of attackers.
    """

    def __init__(self, *, distinct: bool = False, poisoned: Poisoned | None = None) -> None:
        self._distinct = distinct
        self._poisoned = poisoned or Poisoned()
        # The jobs of a plan share one tensor: its digest is taken once. The tensor is held, so that no other
        # one gets its identity in the meantime.
        self._digests: dict[int, tuple[Tensor, bytes]] = {}

    def of(self, job: Job) -> Key:
        if job.private or self._distinct or not _is_value(job.trainer):
            return object()
        data = b"" if job.examples is None else self._poisoned.digest(job.examples)
        return (
            self._parameters(job.parameters),
            job.user,
            job.version,
            data,
            job.trainer,
            job.seed,
        )

    def _parameters(self, parameters: Tensor) -> bytes:
        known = self._digests.get(id(parameters))
        if known is None:
            known = parameters, _digest(parameters)
            self._digests[id(parameters)] = known
        return known[1]


class SharedRows:
    """The rows of many plans, every distinct job run once, as soon as its row is asked for.

    Plans must be read one after the other in their order. A row is held no longer than until the last plan
    that wants it has it; those that ``kept`` gets stay there for the plans of later calls.

    Args:
      held: where rows wait that later plans want.
      kept: where rows stay, and are looked for before they are computed.
      arrived: called for every row that a job was run for.
    """

    def __init__(
        self,
        backend: Backend,
        plans: Sequence[Sequence[Job]],
        keys: Keys,
        *,
        held: RowStore,
        kept: RowStore | FirstRows | None = None,
        arrived: Callable[[], None] = lambda: None,
    ) -> None:
        self._names = [[keys.of(job) for job in jobs] for jobs in plans]
        self._left = Counter(name for names in self._names for name in names)
        self._held, self._kept = held, kept
        self._arrived = arrived
        self.asked = sum(map(len, plans))
        distinct: dict[Key, Job] = {}
        for jobs, names in zip(plans, self._names, strict=True):
            for job, name in zip(jobs, names, strict=True):
                if name not in distinct and (kept is None or name not in kept):
                    distinct[name] = job
        self._new = iter(distinct)
        self._rows = iter(backend.train(distinct.values()))

    def of(self, plan: int) -> Iterator[Row]:
        """The rows of one plan, in the order of its jobs."""
        for name in self._names[plan]:
            yield self._row(name)

    def _row(self, name: Key) -> Row:
        self._left[name] -= 1
        if name in self._held:
            return self._held.get(name) if self._left[name] else self._held.pop(name)
        if self._kept is not None and name in self._kept:
            return self._kept.get(name)
        # Rows come in the order in which their jobs are first asked for.
        if next(self._new) != name:
            raise RuntimeError("plans must be read in order")
        row = next(self._rows)
        self._arrived()
        if self._kept is not None and isinstance(name, tuple):  # a job that is equal to none is not kept
            self._kept.put(name, row)
        elif self._left[name]:
            self._held.put(name, row)
        return row


def _is_value(trainer: Any) -> bool:
    """Whether a trainer can be compared; nothing is assumed about one that cannot."""
    try:
        hash(trainer)
    except TypeError:
        return False
    return True


def _content(examples: Examples) -> bytes:
    x = examples.x
    parts = (x.values, x.offsets) if isinstance(x, Ragged) else (x,)
    return b"".join(_digest(part) for part in (*parts, examples.y))


def _copied(examples: Examples) -> Examples:
    # A clone lies in memory as its original does; the order of dimensions there decides over last bits.
    x = examples.x
    copy = Ragged(x.values.clone(), x.offsets.clone()) if isinstance(x, Ragged) else x.detach().clone()
    return Examples(copy, examples.y.clone())


def _digest(tensor: Tensor) -> bytes:
    # How it lies in memory may decide over last bits.
    about = f"{tensor.dtype}{tuple(tensor.shape)}{tensor.stride()}"
    digest = hashlib.blake2b(about.encode(), digest_size=16)
    digest.update(tensor.detach().contiguous().numpy().data)
    return digest.digest()
