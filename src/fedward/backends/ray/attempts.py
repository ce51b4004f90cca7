"""Tasks under way on a cluster, run again where a process or a node dies under them."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedward.backends.processes.chunks import MOST_DEATHS
from fedward.backends.processes.worker_failures import rebuilt
from fedward.backends.ray.position_notes import Position, Watch, start_notes
from fedward.core.failure import TrainingFailed

Send = Callable[[Watch | None], Any]
"""Submits a task, watched or not, and returns the reference to its answer."""

MOST_LOST = 20
"""So many nodes or processes may die under a task, wherever it was, before it is given up."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Attempt:
    """A task: how it is sent, what for, and how often something has died under it."""

    send: Send
    about: Any
    number: int
    reference: Any = None
    deaths: int = 0
    at: list[Position] = field(default_factory=list)
    dropped: bool = False


class Attempts:
    """All tasks of one caller.

    A task whose process dies is sent again, and watched from then on. One that dies three times at the same
    job is given up: ``TrainingFailed`` names its user, its round and the node.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._waiting: dict[Any, Attempt] = {}
        self._notes: Any = None

    def __len__(self) -> int:
        return len(self._waiting)

    def start(self, send: Send, about: Any = None) -> Attempt:
        """Sends a task.

        Args:
          about: what it is, for whoever takes the answer.
        """
        attempt = Attempt(send, about, next(self._numbers))
        self._send(attempt)
        return attempt

    def take(self, timeout: float | None = None) -> list[tuple[Attempt, Any]]:
        """Tasks that have ended, each with its answer or with the exception it ended with; waits for one.

        Args:
          timeout: seconds to wait at most, after which there may be none.
        """
        import ray

        ended: list[tuple[Attempt, Any]] = []
        while self._waiting and not ended:
            ready, _ = ray.wait(list(self._waiting), num_returns=1, timeout=timeout)
            if not ready and timeout is not None:
                break
            ready, _ = ray.wait(list(self._waiting), num_returns=len(self._waiting), timeout=0)
            for reference in ready:
                attempt = self._waiting.pop(reference)
                answer = self._answer(attempt)
                if answer is not None and not attempt.dropped:
                    ended.append((attempt, answer))
        return ended

    def drop(self, attempts: Iterable[Attempt]) -> None:
        """Ends tasks that nobody waits for any more."""
        import ray

        for attempt in attempts:
            attempt.dropped = True
            if attempt.reference in self._waiting:
                ray.cancel(self._waiting.pop(attempt.reference).reference, force=True)

    def close(self) -> None:
        """Ends all tasks that are under way."""
        self.drop(list(self._waiting.values()))

    def _send(self, attempt: Attempt) -> None:
        watch = None
        if attempt.deaths:
            if self._notes is None:
                self._notes = start_notes()
            watch = Watch(notes=self._notes, task=attempt.number)
        attempt.reference = attempt.send(watch)
        self._waiting[attempt.reference] = attempt

    def _answer(self, attempt: Attempt) -> Any:
        """What a task answered or failed with; None if it is under way again."""
        import ray
        from ray import exceptions

        try:
            answer = ray.get(attempt.reference)
        except exceptions.RayTaskError as error:  # outside of what the task answers for
            return TrainingFailed(f"a task on the cluster failed: {_line(error)}")
        except exceptions.RayError as error:
            return self._died(attempt, error)
        if isinstance(answer, Mapping) and answer.get("failure") is not None:
            return rebuilt(answer["failure"])
        return answer

    def _died(self, attempt: Attempt, error: Exception) -> TrainingFailed | None:
        import ray

        if attempt.dropped:
            return None
        attempt.deaths += 1
        how = type(error).__name__
        position = None
        if self._notes is not None and attempt.deaths > 1:
            try:
                position = ray.get(self._notes.take.remote(attempt.number))
            except ray.exceptions.RayError:
                self._notes = None  # the notes were lost with their process
        if position is not None:
            attempt.at.append(position)
            same = [each for each in attempt.at if (each.user, each.round) == (position.user, position.round)]
            if len(same) >= MOST_DEATHS:
                nodes = ", ".join(sorted({each.node for each in same}))
                what = "job" if position.user is not None else "model"
                why = f"the worker process died {attempt.deaths} times at this {what} ({how}; on {nodes})"
                return TrainingFailed(why, user=position.user, round=position.round)
        if attempt.deaths >= MOST_LOST:
            return TrainingFailed(f"processes of the cluster died {attempt.deaths} times ({_line(error)})")
        _log.warning("a process or node of the cluster died (%s); what it had runs again, same result", how)
        self._send(attempt)
        return None


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
