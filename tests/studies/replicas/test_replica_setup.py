from __future__ import annotations

from pathlib import Path

import numpy as np

from fedward.rundir.replica_store import ReplicaDirectory, finished_blocks
from fedward.rundir.store import RunDirectory
from fedward.studies.replicas.replica_results import load_replicas
from studies.replicas_wanted import CONTENT, go, wanted

SHORT = {**CONTENT, "rounds": 2}


def test_a_block_has_the_replicas_from_its_start_on_all_variants_of_each_together() -> None:
    run = wanted(6, SHORT)
    assert [training.replica for training in run.trainings(0, 2)] == [0, 0, 1, 1]
    assert [training.replica for training in run.trainings(4, 6)] == [4, 4, 5, 5]


def test_a_later_block_trains_other_replicas_than_those_before_it(tmp_path: Path) -> None:
    go(wanted(4, SHORT, axes=[], block=2), tmp_path / "blocks")
    assert [block[:2] for block in finished_blocks(tmp_path / "blocks")] == [(0, 2), (2, 4)]
    found = load_replicas(tmp_path / "blocks", "all").scores
    assert len({each.tobytes() for each in found}) == 4
    go(wanted(4, SHORT, axes=[], block=4), tmp_path / "at once")
    assert np.array_equal(found, load_replicas(tmp_path / "at once", "all").scores)


def test_the_second_block_under_way_holds_its_own_replicas(tmp_path: Path) -> None:
    run = wanted(4, SHORT, axes=[], block=2)
    steps = len(go(run, tmp_path / "whole"))
    for stop in range(1, steps):
        path = tmp_path / f"{stop}"
        go(run, path, stop=stop)
        block = ReplicaDirectory(RunDirectory(path), save_space=False).load_block(list(run.variants))
        if block is not None and block.start == 2:
            assert [state.replica for state in block.states] == [2, 3]
            break
    else:
        raise AssertionError("the second block was never under way")
    go(run, path)
    expected = load_replicas(tmp_path / "whole", "all").scores
    assert np.array_equal(load_replicas(path, "all").scores, expected)
