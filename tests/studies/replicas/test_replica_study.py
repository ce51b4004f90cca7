from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.backends import InProcess, measure
from fedward.base.arrays_file import Arrays, read_arrays
from fedward.base.validate import InvalidValue
from fedward.certificates.replica_scores import Replicas
from fedward.config.vary import Axis, variants
from fedward.core.train import train
from fedward.rundir.store import open_run
from fedward.studies.progress import Progress
from fedward.studies.replicas.replica_results import load_replicas, measure_replicas
from fedward.studies.replicas.replica_study import run_replicas
from studies.killing import Killed, kill_at
from studies.replicas_wanted import CONTENT, go, wanted

RUN = wanted()


def scores(path: Path) -> dict[str, Replicas]:
    return {name: load_replicas(path, name) for name in RUN.variants}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "run"
    go(RUN, path)
    return path


def test_every_replica_says_what_it_says_when_trained_by_itself(reference: Path) -> None:
    setup = RUN.variants["noise_multiplier=3.0"]
    backend = InProcess(setup.model, setup.federation)
    found = scores(reference)["noise_multiplier=3.0"].scores
    assert setup.federation.test is not None
    for replica in (0, 4):
        for state, _ in train(
            setup.algorithm, setup.model, setup.federation, backend, rounds=3, seed=3, replica=replica
        ):
            pass
        (alone,) = backend.confidences([state.parameters], setup.federation.test)
        assert np.array_equal(found[replica], alone)
    assert not np.array_equal(found[0], found[4])


@pytest.mark.parametrize("block", [1, 2, 4])
def test_blocks_of_any_size_give_the_same_scores(reference: Path, tmp_path: Path, block: int) -> None:
    go(wanted(block=block), tmp_path / "run")
    for name, expected in scores(reference).items():
        assert np.array_equal(scores(tmp_path / "run")[name].scores, expected.scores)


def test_more_replicas_can_be_added_later(reference: Path, tmp_path: Path) -> None:
    for count in (2, 5):
        go(wanted(count), tmp_path / "run")
    for name, expected in scores(reference).items():
        assert np.array_equal(scores(tmp_path / "run")[name].scores, expected.scores)
    assert go(wanted(5), tmp_path / "run") == []
    assert json.loads((tmp_path / "run" / "result.json").read_text())["replicas"] == 5


def test_the_first_round_is_shared_and_the_counts_say_so(tmp_path: Path) -> None:
    run = wanted(30, {**CONTENT, "rounds": 1}, block=7)
    steps = go(run, tmp_path / "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["jobs_run"] == 8
    assert result["jobs_asked_for"] == steps[-1].asked > 100
    assert steps[-1].done == steps[-1].total == 30 * 2 * (1 + 1)


def test_sums_are_those_of_the_scores_whatever_the_blocks(reference: Path, tmp_path: Path) -> None:
    for block in (2, 5):
        go(wanted(save_space=True, block=block), tmp_path / f"{block}")
    small, large = (read_arrays(tmp_path / f"{block}" / "sums.npz") for block in (2, 5))
    assert small.keys() == large.keys()
    for key in small:
        if key not in ("asked", "run"):
            assert np.array_equal(small[key], large[key])
    assert int(small["replicas"]) == 5
    for name, each in scores(reference).items():
        exact = each.scores.astype(np.float64)
        assert np.allclose(small[f"{name}/sum"], exact.sum(0), rtol=1e-12)
        assert np.allclose(small[f"{name}/squares"], (exact**2).sum(0), rtol=1e-12)
        assert np.array_equal(small[f"{name}/votes"], each.votes().scores.sum(0))
        assert len(small[f"{name}/accuracy"]) == 5
    assert not list((tmp_path / "2").glob("scores-*"))


@pytest.mark.parametrize("save_space", [False, True])
def test_killed_at_each_file_operation_in_turn_it_ends_with_the_same_scores(
    reference: Path, tmp_path: Path, save_space: bool
) -> None:
    run = wanted(block=3, save_space=save_space)
    assert len(list(reference.glob("scores-*"))) == 1
    kills = 0
    while True:
        path = tmp_path / f"run{kills}"
        try:
            with pytest.MonkeyPatch.context() as patch:
                kill_at(patch, kills)
                go(run, path)
            break
        except Killed:
            kills += 1
        go(run, path)
        if save_space:
            found = read_arrays(path / "sums.npz")
            for name, each in scores(reference).items():
                assert np.allclose(found[f"{name}/sum"], each.scores.astype(np.float64).sum(0), rtol=1e-12)
                assert len(found[f"{name}/accuracy"]) == 5
        else:
            for name, expected in scores(reference).items():
                assert np.array_equal(scores(path)[name].scores, expected.scores)
        assert not (path / "block.pt").exists()
        assert not [file for file in path.iterdir() if file.name.startswith(".") and file.name != ".lock"]
    assert kills > 20


def test_a_resumed_run_does_not_repeat_finished_rounds(tmp_path: Path) -> None:
    path = tmp_path / "run"
    steps = []
    with open_run(path) as opened:
        for step in run_replicas(RUN, opened):
            steps.append(step)
            if step.done == 25:  # in the middle of the third round of 10 trainings
                break
    resumed = go(RUN, path)
    assert resumed[0].done == 21
    assert resumed[-1].done == resumed[-1].total == 40


def test_time_left_is_said_only_when_every_kind_of_step_was_measured(tmp_path: Path) -> None:
    steps = go(wanted(4, block=2), tmp_path / "run")
    assert steps[0].seconds_left is None
    assert all(step.seconds_left is not None for step in steps if step.done > 16)
    assert steps[-1].seconds_left == 0


def test_attackers_are_measured_in_every_replica(tmp_path: Path) -> None:
    content = {
        **CONTENT,
        "rounds": 1,
        "attack": {"who": {"name": "random", "count": 3}, "data": [{"name": "label_flip", "target": 0}]},
    }
    go(wanted(3, content), tmp_path / "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    values = result["variants"]["noise_multiplier=1.0"]
    assert set(values) == {"accuracy", "success.label_flip", "cost.label_flip"}
    assert values["cost.label_flip"]["mean"] > 0


def test_a_trigger_that_follows_the_model_is_fitted_to_each_replica(tmp_path: Path) -> None:
    a3fl = {"name": "a3fl", "target": 0, "pattern": {"name": "square", "size": 2}, "steps": 5, "length": 0.2}
    content = {
        **CONTENT,
        "rounds": 1,
        "model": {"name": "logistic_regression"},
        "attack": {"who": {"name": "random", "count": 3}, "data": [a3fl]},
    }
    run = wanted(2, content, [Axis(key="algorithm.noise_multiplier", values=(1.0,))])
    (setup,) = run.variants.values()
    assert setup.goal is not None
    models = [setup.parameters, 1 - setup.parameters]
    backend = InProcess(setup.model, setup.federation)

    def measured() -> Iterator[Progress]:
        found.append(
            (yield from measure_replicas(setup, backend, models, lambda _: Progress(done=0, total=1)))
        )

    found: list[Arrays] = []
    list(measured())
    costs = [measure(backend, each, setup.goal).cost for each in models]
    assert found[0]["cost.a3fl"].tolist() == costs
    go(run, tmp_path / "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["variants"]["noise_multiplier=1.0"]["cost.a3fl"]["mean"] > 0


def test_another_run_in_the_directory_is_refused(reference: Path, tmp_path: Path) -> None:
    go(wanted(1, {**CONTENT, "rounds": 1}), tmp_path / "run")
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    for other in (wanted(1), wanted(1, {**CONTENT, "rounds": 1}, save_space=True)):
        with pytest.raises(InvalidValue, match="holds another run"):
            go(other, tmp_path / "run")
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


def test_a_missing_or_damaged_file_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = wanted(4, {**CONTENT, "rounds": 1}, block=1)
    go(run, path)
    (path / "scores-000001-000002.npz").rename(path / "elsewhere")
    with pytest.raises(InvalidValue, match="must hold the scores of replica 1 next"):
        go(run, path)
    (path / "elsewhere").write_bytes(b"nothing")
    (path / "elsewhere").rename(path / "scores-000001-000002.npz")
    with pytest.raises(InvalidValue, match="damaged"):
        load_replicas(path, "noise_multiplier=1.0")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"replicas": 0}, "replicas must be"),
        ({"block": 0}, "block must be"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        wanted(**changes)


def test_noise_from_system_entropy_is_refused() -> None:
    content = json.loads(json.dumps(CONTENT))
    content["algorithm"]["noise_source"] = "system"
    with pytest.raises(InvalidValue, match="need seeded noise"):
        wanted(1, content)


def test_an_unknown_variant_is_named_with_those_there_are(reference: Path) -> None:
    with pytest.raises(InvalidValue, match=r"variant must be one of noise_multiplier=1.0, .*, got 'x'"):
        load_replicas(reference, "x")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True))
def test_axes_multiply(sizes: list[int]) -> None:
    axes = [Axis(key=f"algorithm.k{n}", values=tuple(range(n + 1))) for n in sizes]
    found = variants({"algorithm": {}}, axes)
    assert len(found) == int(np.prod([n + 1 for n in sizes]))
    assert len({json.dumps(content) for content in found.values()}) == len(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed=1,2", "seed cannot vary"),
        ("data.users=1,2", "data cannot vary"),
        ("algorithm.noise_multiplier", "KEY=VALUE"),
        ("=1", "KEY=VALUE"),
        ("algorithm.x=1,,2", "KEY=VALUE"),
        ("algorithm.x=", "at least one"),
        ("algorithm.x=1,1", "must differ"),
    ],
)
def test_what_varies_must_be_said_clearly(text: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Axis.parse(text)


def test_a_broken_model_is_no_prediction(tmp_path: Path) -> None:
    content = json.loads(json.dumps(CONTENT))
    content["rounds"] = 2
    content["algorithm"] |= {"preset": "fedavg"}
    for key in ("clip_bound", "noise_multiplier", "server"):
        content["algorithm"].pop(key)
    run = wanted(1, content, axes=[])
    setup = run.first
    backend = InProcess(setup.model, setup.federation)
    broken = torch.full((650,), float("nan"))
    assert setup.federation.test is not None
    (found,) = backend.confidences([broken], setup.federation.test)
    assert np.allclose(found, 0.1)
