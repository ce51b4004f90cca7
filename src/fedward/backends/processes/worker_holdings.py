"""A record of what a worker process already holds, so that nothing is sent to it twice."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from torch import Tensor

from fedward.backends.processes.worker_buffers import pack, tensors_of
from fedward.core.examples import Examples
from fedward.core.types import Job

LIMIT = 64 * 2**20
"""Bytes that a worker holds beyond what lies in shared memory; what a chunk needs is held in any case."""


_OTHERS = tuple(
    field.name for field in fields(Job) if field.name not in ("parameters", "trainer", "examples")
)
_others = operator.attrgetter(*_OTHERS)


class _Held(NamedTuple):
    # The reference keeps the address from being given to something else.
    thing: Any
    number: int
    size: int


class Holdings:
    """Numbers for things that one worker holds; what it has not used for longest goes first.

    Tensors and examples are known by their identity, and tensors count their in-place changes, so that one
    that was written to is another thing. Trainers are known by what they are pickled to.

    Args:
      shared: examples that every worker has; their numbers are 0, 1, ...
      limit: how many bytes the other things may take.
    """

    def __init__(self, shared: Sequence[Examples], limit: int = LIMIT) -> None:
        self._shared = {id(examples): number for number, examples in enumerate(shared)}
        self._references = tuple(shared)
        self._limit = limit
        self._numbers = itertools.count(len(shared))
        self._held: dict[Hashable, _Held] = {}  # in the order of last use
        self._new: list[tuple[int, str, Any]] = []
        self._used: set[int] = set()
        self._chunk = 0

    def examples(self, examples: Examples) -> int:
        if id(examples) in self._shared:
            return self._shared[id(examples)]
        tensors = tensors_of(examples)
        return self._number(examples, "examples", tensors, lambda: _content(tensors))

    def parameters(self, parameters: Tensor) -> int:
        return self._number(parameters, "parameters", [parameters], lambda: _content([parameters]))

    def trainer(self, pickled: bytes) -> int:
        return self._hold(pickled, pickled, "trainer", lambda: (pickled, len(pickled)))

    def models(self, models: Iterable[Tensor]) -> list[int]:
        return _number_each(models, self.parameters)

    def jobs(self, items: Sequence[tuple[Job, bytes]]) -> dict[str, Sequence[Any]]:
        """Jobs, given with their pickled trainers, as one column for each field.

        That is far quicker to pickle than one job after the other.
        """
        jobs = [job for job, _ in items]
        return {
            "parameters": self.models(job.parameters for job in jobs),
            "trainer": _number_each((pickled for _, pickled in items), self.trainer),
            "examples": _number_each(
                (job.examples for job in jobs), lambda own: None if own is None else self.examples(own)
            ),
            **dict(zip(_OTHERS, zip(*map(_others, jobs), strict=True), strict=True)),
        }

    def settle(self) -> tuple[list[tuple[int, str, Any]], list[int]]:
        """What the chunk whose things were asked for brings, and what the worker lets go of with it."""
        excess = sum(held.size for held in self._held.values()) - self._limit
        drop = []
        for key, held in list(self._held.items()):
            if excess <= 0 or held.number in self._used:
                break
            excess -= self._held.pop(key).size
            drop.append(held.number)
        new, self._new, self._used = self._new, [], set()
        self._chunk += 1
        return new, drop

    def _number(
        self, thing: Any, kind: str, tensors: Sequence[Tensor], content: Callable[[], tuple[Any, int]]
    ) -> int:
        # An inference tensor does not count its changes: it is the same within a chunk only.
        versions = tuple(-self._chunk - 1 if t.is_inference() else t._version for t in tensors)
        return self._hold((id(thing), versions), thing, kind, content)

    def _hold(self, key: Hashable, thing: Any, kind: str, content: Callable[[], tuple[Any, int]]) -> int:
        held = self._held.pop(key, None)
        if held is None:
            sent, size = content()
            held = _Held(thing, next(self._numbers), size)
            self._new.append((held.number, kind, sent))
        self._held[key] = held
        self._used.add(held.number)
        return held.number


def _number_each(things: Iterable[Any], number: Callable[[Any], Any]) -> list[Any]:
    # Jobs of a chunk share most of theirs, so each is looked up once.
    listed = list(things)
    numbers = {key: number(thing) for key, thing in {id(thing): thing for thing in listed}.items()}
    return [numbers[id(thing)] for thing in listed]


def _content(tensors: Sequence[Tensor]) -> tuple[Any, int]:
    places, block = pack(tensors)
    return (places, block.numpy()), len(block)
