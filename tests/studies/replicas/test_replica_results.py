from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedward.backends import InProcess
from fedward.base.arrays_file import arrays_bytes, read_arrays
from fedward.base.validate import InvalidValue
from fedward.config.vary import Axis
from fedward.rundir.replica_sums import add_block
from fedward.rundir.results import ReplicasResult
from fedward.studies.replicas.replica_results import load_replicas, load_tally, summarise
from fedward.studies.replicas.replica_setup import ReplicaRun
from studies.replicas_wanted import CONTENT, go, wanted


def peak(work: Any) -> int:
    """The most bytes that were allocated at a time, besides those before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_summary_does_not_load_what_replicas_say_about_every_example(tmp_path: Path) -> None:
    scores = np.full((10, 1000, 10), 0.1, dtype=np.float32)
    for start in (0, 10):
        accuracy = np.arange(start, start + 10) / 20
        arrays: dict[str, Any] = {
            "a/scores": scores,
            "a/accuracy": accuracy,
            "asked": np.array(3),
            "run": np.array(2),
        }
        (tmp_path / f"scores-{start:06d}-{start + 10:06d}.npz").write_bytes(arrays_bytes(arrays))
    found: list[ReplicasResult] = []
    assert peak(lambda: found.append(summarise(tmp_path, ["a"]))) < scores.nbytes / 2
    assert found[0].replicas == 20
    assert (found[0].jobs_asked_for, found[0].jobs_run) == (6, 4)
    assert found[0].variants.keys() == {"a"}
    assert found[0].variants["a"]["accuracy"].mean == pytest.approx(9.5 / 20)


def test_no_interval_leaves_what_is_possible(tmp_path: Path) -> None:
    values = np.array([0.0, 0.14, 0.07])
    arrays = {
        "a/accuracy": values,
        "a/success.trigger": 1 - values,
        "a/cost.trigger": 10 * values,
        "asked": np.array(3),
        "run": np.array(2),
    }
    (tmp_path / "scores-000000-000003.npz").write_bytes(arrays_bytes(arrays))
    found = summarise(tmp_path, ["a"]).variants["a"]
    assert found["accuracy"].low == 0.0
    assert found["accuracy"].high is not None
    assert 0.2 < found["accuracy"].high < 0.3
    assert found["success.trigger"].high == 1.0
    assert found["cost.trigger"].low == 0.0
    assert found["cost.trigger"].high is not None
    assert found["cost.trigger"].high > 2.0


def test_running_sums_have_the_same_summary(tmp_path: Path) -> None:
    for save_space in (False, True):
        go(wanted(3, save_space=save_space, block=2), tmp_path / f"{save_space}")
    full, sums = (json.loads((tmp_path / f"{each}" / "result.json").read_text()) for each in (False, True))
    assert full == sums


def test_sums_are_made_without_a_copy_of_the_block() -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(10), size=(50, 400)).astype(np.float32)
    before = add_block(None, {"a/scores": scores}, 50)
    assert peak(lambda: add_block(before, {"a/scores": scores}, 100)) < scores.nbytes / 4
    assert np.array_equal(before["a/votes"].sum(axis=1), np.full(400, 100))


def test_a_model_that_is_not_finite_votes_for_nobody() -> None:
    scores = np.array([[[0.2, 0.8], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], dtype=np.float32)
    sums = add_block(None, {"a/scores": scores, "a/accuracy": np.zeros(2)}, 2)
    assert sums["a/votes"].tolist() == [[0, 1], [0, 0]]
    assert sums["a/sum"][1].tolist() == [1.0, 1.0]


def test_what_one_variant_says_is_read_alone(tmp_path: Path) -> None:
    run = wanted(3, {**CONTENT, "rounds": 1}, block=2)
    go(run, tmp_path)
    files = [tmp_path / "scores-000000-000002.npz", tmp_path / "scores-000002-000003.npz"]
    for name in run.variants:
        stored = np.concatenate([read_arrays(file)[f"{name}/scores"] for file in files])
        assert np.array_equal(load_replicas(tmp_path, name).scores, stored)


def test_a_replica_that_is_there_twice_is_neither_counted_nor_averaged(tmp_path: Path) -> None:
    run = wanted(3, {**CONTENT, "rounds": 1}, (), block=2)
    go(run, tmp_path)
    assert len(load_tally(tmp_path, "all")) == 3
    first, second = tmp_path / "scores-000000-000002.npz", tmp_path / "scores-000002-000003.npz"
    copied = read_arrays(second) | {"all/scores": read_arrays(first)["all/scores"][1:]}
    second.write_bytes(arrays_bytes(copied))
    for load in (load_tally, load_replicas):
        with pytest.raises(InvalidValue, match="the same scores from 1 and 2: copies of one training"):
            load(tmp_path, "all")


@pytest.mark.parametrize(
    ("server", "doubles"), [("step", 0), ("momentum", 1), ("adam", 2)], ids=["step", "momentum", "adam"]
)
def test_a_block_is_as_large_as_states_and_scores_allow(
    monkeypatch: pytest.MonkeyPatch, server: str, doubles: int
) -> None:
    run = with_server(server)
    assert run.first.federation.test is not None
    scores = len(run.first.federation.test) * 10 * 4
    state = 650 * (4 + 8 * doubles)
    for count in (1, 3, 20):
        memory = count * 2 * (state + scores) * 2  # two variants
        monkeypatch.setattr("fedward.studies.replicas.replica_setup._MEMORY", memory)
        assert run.block_size == count
        monkeypatch.setattr("fedward.studies.replicas.replica_setup._MEMORY", memory - 1)
        assert run.block_size == max(1, count - 1)
    monkeypatch.setattr("fedward.studies.replicas.replica_setup._MEMORY", 2**40)
    assert run.block_size == 50


def with_server(name: str) -> ReplicaRun:
    content = {**CONTENT, "algorithm": {**CONTENT["algorithm"], "server": {"name": name}}}
    return wanted(1, content, [Axis(key="algorithm.noise_multiplier", values=(1.0, 2.0))])


def test_accuracy_counts_no_example_that_a_model_says_nothing_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = wanted(1, {**CONTENT, "rounds": 1}, axes=[])
    real = InProcess.confidences

    def broken(self: InProcess, models: list[torch.Tensor], examples: Any) -> Any:
        return real(self, [torch.full_like(model, float("nan")) for model in models], examples)

    monkeypatch.setattr(InProcess, "confidences", broken)
    go(run, tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["variants"]["all"]["accuracy"]["mean"] == 0
