from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedward.backends import InProcess
from fedward.lockstep.lockstep import Lockstep
from fedward.rundir.replica_store import ReplicaDirectory, for_every_replica
from fedward.studies import progress
from studies.replicas_wanted import CONTENT, go, wanted

ATTACKED: dict[str, Any] = {
    **CONTENT,
    "rounds": 2,
    "attack": {"who": {"name": "random", "count": 3}, "data": [{"name": "label_flip", "target": 0}]},
}


class Hours:
    """A clock that moves by as much as each kind of work is said to take."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self._patch = patch
        patch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: self.now))

    def each(self, owner: type, name: str, takes: float) -> None:
        """What a generator yields takes so long each."""
        real: Callable[..., Iterator[Any]] = getattr(owner, name)

        def slow(*arguments: Any, **options: Any) -> Iterator[Any]:
            for found in real(*arguments, **options):
                self.now += takes
                yield found

        self._patch.setattr(owner, name, slow)

    def once(self, owner: type, name: str, takes: float) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def slow(*arguments: Any, **options: Any) -> Any:
            self.now += takes
            return real(*arguments, **options)

        self._patch.setattr(owner, name, slow)


def test_time_left_counts_all_that_is_done_for_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = Hours(monkeypatch)
    hours.each(Lockstep, "round", 1.0)
    hours.each(InProcess, "confidences", 2.0)
    hours.each(InProcess, "evaluate_many", 4.0)
    hours.once(Lockstep, "start", 8.0)
    hours.once(ReplicaDirectory, "save_block", 16.0)
    hours.once(ReplicaDirectory, "finish_block", 32.0)
    a_block = 8.0 + 2 * (3 * 1.0 + 16.0) + 3 * (2.0 + 4.0) + 32.0
    steps = go(wanted(9, ATTACKED, axes=[], block=3), tmp_path)
    in_a_block = 3 * (2 + 1 + 1) + 1  # and one when it is stored
    assert len(steps) == 3 * in_a_block
    assert hours.now == 3 * a_block
    for blocks in (1, 2, 3):
        assert steps[blocks * in_a_block - 1].seconds_left == pytest.approx((3 - blocks) * a_block)


def test_progress_moves_while_models_are_evaluated(tmp_path: Path) -> None:
    steps = go(wanted(3, ATTACKED, axes=[]), tmp_path)
    assert [step.done for step in steps] == [*range(1, 3 * 4 + 1), 3 * 4]
    assert steps[-1].total == 3 * 4


def test_stored_scores_are_charged_to_their_own_block_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block larger than what the estimate remembers: its share counts, not the whole."""
    monkeypatch.setattr("fedward.studies.progress._RECENT", 2)
    hours = Hours(monkeypatch)
    hours.once(ReplicaDirectory, "finish_block", 40.0)
    steps = go(wanted(8, {**CONTENT, "rounds": 1}, axes=[], block=4), tmp_path)
    assert steps[8].seconds_left == pytest.approx(40.0)


def test_accuracy_so_far_is_the_mean_over_all_replicas_of_this_session(tmp_path: Path) -> None:
    go(wanted(2, axes=[]), tmp_path)
    steps = go(wanted(6, axes=[], block=3), tmp_path)
    assert steps[0].accuracy == {}
    assert (steps[0].finished, steps[-1].finished) == (2, 6)
    _, three, one = (block["all/accuracy"].tolist() for block in for_every_replica(tmp_path))
    assert len({*three, *one}) > 1
    assert steps[-1].accuracy == {"all": pytest.approx(sum([*three, *one]) / 4)}
