from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedward.backends.compute import Compute
from fedward.backends.ray import connection
from fedward.backends.ray.position_notes import Position, Watch, start_notes
from raylets import needs_ray

pytestmark = needs_ray


@pytest.fixture(scope="module")
def on(cluster_address: str) -> Iterator[Compute]:
    compute = Compute(cluster=cluster_address).check()
    with connection.joined(compute):
        yield compute


def test_the_last_note_of_a_task_is_kept_and_forgotten_once_taken(on: Compute) -> None:
    import ray

    notes = start_notes()
    for user in (3, 4):
        Watch(notes=notes, task=7).at(user, 2)
    found = ray.get(notes.take.remote(7))
    assert isinstance(found, Position)
    assert (found.user, found.round) == (4, 2)
    assert ray.get(notes.take.remote(7)) is None


def test_a_task_goes_on_where_its_notes_have_died(on: Compute) -> None:
    import ray

    notes = start_notes()
    watch = Watch(notes=notes, task=1)
    watch.at(0, 0)
    ray.kill(notes)
    watch.at(1, 0)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(notes.take.remote(1))
