from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue
from fedward.config.vary import Axis
from fedward.rundir.replica_store import ReplicaDirectory
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.replicas.replica_results import load_replicas
from studies.replicas_wanted import CONTENT, go, wanted

SHORT = {**CONTENT, "rounds": 2}


def noises(*values: float) -> list[Axis]:
    return [Axis(key="algorithm.noise_multiplier", values=values)]


def test_variants_may_come_in_another_order_when_a_block_is_gone_on_with(tmp_path: Path) -> None:
    go(wanted(3, SHORT, noises(0.5, 5.0)), tmp_path / "whole")
    go(wanted(3, SHORT, noises(0.5, 5.0)), tmp_path / "run", stop=8)  # in the second round
    assert (tmp_path / "run" / "block.pt").exists()
    go(wanted(3, SHORT, noises(5.0, 0.5)), tmp_path / "run")
    for name in ("noise_multiplier=0.5", "noise_multiplier=5.0"):
        expected = load_replicas(tmp_path / "whole", name).scores
        assert np.array_equal(load_replicas(tmp_path / "run", name).scores, expected)


@pytest.mark.parametrize(
    ("key", "value"), [("variants", ["a", "b"]), ("stop", 2), ("states", []), ("states", None)]
)
@pytest.mark.usefixtures("edited_by_hand")
def test_a_block_of_other_states_is_refused(tmp_path: Path, key: str, value: object) -> None:
    run = wanted(3, SHORT)
    go(run, tmp_path, stop=8)
    file = tmp_path / "block.pt"
    saved = unseal("fedward block 2", file.read_bytes(), "file", "")
    states = saved["states"][::-1]  # replicas in another order
    file.write_bytes(seal("fedward block 2", {**saved, key: states if value is None else value}))
    with pytest.raises(InvalidValue, match=r"block\.pt must hold replicas 0 to .* remove it"):
        go(run, tmp_path)


def test_every_kind_of_damage_to_a_block_is_one_clear_error(tmp_path: Path) -> None:
    run = wanted(2, SHORT)
    go(run, tmp_path, stop=6)
    file, names = tmp_path / "block.pt", list(run.variants)
    good = file.read_bytes()
    directory = ReplicaDirectory(RunDirectory(tmp_path), save_space=False)
    assert directory.load_block(names) is not None
    rng = np.random.default_rng(0)
    for case in range(200):
        bad = bytearray(good)
        for _ in range(1 if case % 2 else 50):
            bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        file.write_bytes(bad if case % 3 else good[: rng.integers(len(good))])
        with pytest.raises(InvalidValue, match=r"block\.pt is damaged .*: remove it, and its replicas"):
            directory.load_block(names)
    file.unlink()
    go(run, tmp_path)  # what the message says works


@pytest.mark.parametrize("save_space", [False, True])
@pytest.mark.parametrize("start", [0, 1])
def test_a_block_whose_scores_are_stored_is_dropped(tmp_path: Path, save_space: bool, start: int) -> None:
    """A kill between the two files leaves both: its replicas would be there twice."""
    run = wanted(2, SHORT, block=1, save_space=save_space)
    go(run, tmp_path, stop=5 + start * 6)  # in the last round of the block, before it is measured
    content = (tmp_path / "block.pt").read_bytes()
    assert unseal("fedward block 2", content, "file", "")["start"] == start
    go(run, tmp_path)
    with open_run(tmp_path) as opened:
        opened.files.write("block.pt", content, private=True)
        assert ReplicaDirectory(opened, save_space=save_space).load_block(list(run.variants)) is None
    assert not (tmp_path / "block.pt").exists()


@pytest.mark.parametrize("save_space", [False, True])
@pytest.mark.parametrize("stop", [None, 6])
def test_results_of_nobody_knows_what_are_not_adopted(
    tmp_path: Path, save_space: bool, stop: int | None
) -> None:
    """Without run.json they may be of another experiment."""
    go(wanted(2, SHORT, save_space=save_space), tmp_path, stop=stop)
    for name in ("run.json", "result.json"):
        (tmp_path / name).unlink(missing_ok=True)
    before = {file.name for file in tmp_path.iterdir()}
    other = wanted(2, SHORT, noises(7.0, 8.0), save_space=save_space)
    name = r"block\.pt" if stop else r"sums\.npz" if save_space else r"scores-000000-000002\.npz"
    with pytest.raises(InvalidValue, match=f"holds {name} but no run.json"):
        go(other, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == before


def test_damaged_scores_are_noticed_before_anything_is_trained(tmp_path: Path) -> None:
    go(wanted(3, SHORT, block=1), tmp_path)
    file = tmp_path / "scores-000001-000002.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    with pytest.raises(InvalidValue, match=r"scores-000001-000002\.npz is damaged.*; remove it and those"):
        go(wanted(4, SHORT, block=1), tmp_path, stop=1)
    assert not (tmp_path / "block.pt").exists()
    for name in ("scores-000001-000002.npz", "scores-000002-000003.npz"):
        (tmp_path / name).unlink()
    go(wanted(3, SHORT, block=1), tmp_path)


def test_damaged_sums_are_noticed_before_anything_is_trained(tmp_path: Path) -> None:
    go(wanted(2, SHORT, save_space=True), tmp_path)
    file = tmp_path / "sums.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    with pytest.raises(InvalidValue, match=r"sums\.npz is damaged.*; put back a copy"):
        go(wanted(4, SHORT, save_space=True), tmp_path, stop=1)


@pytest.mark.usefixtures("edited_by_hand")
def test_scores_of_another_number_of_replicas_are_refused(tmp_path: Path) -> None:
    go(wanted(2, SHORT), tmp_path)
    (tmp_path / "scores-000000-000002.npz").rename(tmp_path / "scores-000000-000003.npz")
    with pytest.raises(InvalidValue, match="must hold 3 replicas of each variant"):
        go(wanted(3, SHORT), tmp_path)


@pytest.mark.parametrize("content", [b"", b"nothing", None])
def test_damaged_labels_are_written_again(tmp_path: Path, content: bytes | None) -> None:
    go(wanted(1, SHORT), tmp_path)
    good = load_replicas(tmp_path, "noise_multiplier=1.0").labels
    assert good is not None
    if content is None:
        np.savez(tmp_path / "labels.npz", labels=good + 1)
    else:
        (tmp_path / "labels.npz").write_bytes(content)
    go(wanted(1, SHORT), tmp_path)
    again = load_replicas(tmp_path, "noise_multiplier=1.0").labels
    assert again is not None
    assert np.array_equal(again, good)


def test_a_block_under_way_is_counted_even_if_fewer_are_asked_for(tmp_path: Path) -> None:
    go(wanted(6, SHORT, axes=[]), tmp_path, stop=7)
    steps = go(wanted(2, SHORT, axes=[]), tmp_path)
    assert [step.total for step in steps] == [6 * 3] * len(steps)
    assert steps[0].done == 7
    assert steps[-1].done == 18
    assert steps[-1].seconds_left == 0
    assert json.loads((tmp_path / "result.json").read_text())["replicas"] == 6


def test_rounds_that_a_budget_left_out_are_left_out_after_a_resume_too(tmp_path: Path) -> None:
    content = {**CONTENT, "rounds": 6}
    budgets = [Axis(key="privacy.budget", values=(5.0, 9.0, 90.0))]
    whole = go(wanted(2, content, budgets), tmp_path / "whole")
    assert whole[-1].done == whole[-1].total == 2 * 3 * 7
    for stop in (8, 14, 20, 26, 32):
        path = tmp_path / f"{stop}"
        go(wanted(2, content, budgets), path, stop=stop)
        steps = go(wanted(2, content, budgets), path)
        assert steps[-1].done == steps[-1].total == whole[-1].total
        assert steps[-1].seconds_left == 0
        found, expected = (load_replicas(each, "budget=5.0").scores for each in (path, tmp_path / "whole"))
        assert np.array_equal(found, expected)


def test_a_block_that_is_missing_between_others_is_noticed(tmp_path: Path) -> None:
    go(wanted(3, SHORT, block=1), tmp_path)
    (tmp_path / "scores-000001-000002.npz").unlink()
    with pytest.raises(
        InvalidValue, match=r"must hold the scores of replica 1 next .*, got scores-000002-000003"
    ):
        go(wanted(3, SHORT, block=1), tmp_path)
