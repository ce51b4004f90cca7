"""Notes of where tasks are, kept apart from the processes that run them: they say at which job one died.

Only what has died once already is watched so: a note costs a message.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Position:
    """A job that a task is at: whose, in which round, on which node."""

    user: int | None
    round: int | None
    node: str


class PositionNotes:
    """The notes; an actor on the driver's node."""

    def __init__(self) -> None:
        self._at: dict[int, Position] = {}

    def note(self, task: int, position: Position) -> None:
        self._at[task] = position

    def take(self, task: int) -> Position | None:
        """The last note of a task; it is forgotten."""
        return self._at.pop(task, None)


@dataclass(frozen=True, kw_only=True)
class Watch:
    """A task's way to its notes.

    Args:
      notes: the actor.
      task: the number of the task.
    """

    notes: Any
    task: int

    def at(self, user: int | None, round: int | None) -> None:
        """Says that a job begins, and returns once that is known elsewhere.

        Where the notes have died with their node, the task goes on without: all that is lost is whose job it
        was if its process dies again, and the driver begins new notes then.
        """
        import ray
        from ray.exceptions import ActorUnschedulableError, RayActorError

        with suppress(RayActorError, ActorUnschedulableError):
            ray.get(self.notes.note.remote(self.task, Position(user=user, round=round, node=node_name())))


def start_notes() -> Any:
    """A new actor for notes."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return ray.remote(num_cpus=0)(PositionNotes).options(scheduling_strategy=here).remote()


def node_name() -> str:
    """The node that this process is on."""
    import ray

    return str(ray.util.get_node_ip_address())
