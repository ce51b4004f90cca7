from __future__ import annotations

import copy
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.config.sweep_axis import SweepAxis
from fedward.config.sweep_section import Sweep, read_sweep
from fedward.rundir.results import Mean
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.progress import Progress
from fedward.studies.sweep.sweep_results import read_rows
from fedward.studies.sweep.sweep_study import prepare_sweep, run_sweep
from fedward.studies.training.training_study import prepare, run
from studies.fuzzed_files import CONTENTS, scalars, values
from studies.killing import Killed, kill_at

CONTENT = tomllib.loads(
    """
    seed = 4
    rounds = 2
    [data]
    name = "synthetic"
    users = 12
    examples = 6
    features = 4
    classes = 3
    test_examples = 40
    [model]
    name = "logistic_regression"
    [algorithm]
    preset = "user_dp_fedavg"
    clip_bound = 0.5
    noise_multiplier = 1.0
    sampler = { name = "poisson", rate = 0.9 }
    local = { name = "sgd", learning_rate = 0.1, batch_size = 3, epochs = 1 }
    [privacy]
    accountant = "rdp"
    """
)


def sweep_of(table: dict[str, Any], **changes: Any) -> Sweep:
    return read_sweep({**copy.deepcopy(CONTENT), **changes, "sweep": table}, "file.toml")


def carried_out(sweep: Sweep, path: Path) -> list[Progress]:
    return list(run_sweep(sweep, prepare_sweep(sweep), path))


def test_every_combination_is_an_experiment_with_every_seed() -> None:
    sweep = sweep_of({"seeds": 2, "algorithm.noise_multiplier": [1.0, 2.0], "rounds": [1, 3]})
    assert [axis.key for axis in sweep.axes] == ["algorithm.noise_multiplier", "rounds"]
    assert sweep.seeds == (4, 5)
    assert len(sweep.points) == 8
    last = sweep.points[-1]
    assert (last.combination, last.seed) == ("noise_multiplier=2, rounds=3", 5)
    assert last.directory == "noise_multiplier=2,rounds=3,seed=5"
    assert (last.experiment.seed, last.experiment.rounds) == (5, 3)
    assert last.experiment.algorithm.noise_multiplier == 2.0  # type: ignore[attr-defined]


def test_keys_may_be_quoted_or_not() -> None:
    text = "[sweep]\nseeds = [7]\nalgorithm.sampler.rate = [0.1, 0.2]\n'algorithm.clip_bound' = [1.0]\n"
    sweep = read_sweep({**CONTENT, **tomllib.loads(text)})
    assert [axis.key for axis in sweep.axes] == ["algorithm.sampler.rate", "algorithm.clip_bound"]
    assert sweep.seeds == (7,)


def test_tables_are_merged_and_another_preset_keeps_what_it_knows() -> None:
    sweep = sweep_of(
        {
            "algorithm": [
                {"noise_multiplier": 3.0, "label": "much noise"},
                {"preset": "fedavg"},
                {"preset": "trimmed_mean", "trimmed": 2},
            ]
        }
    )
    tables = [point.experiment.algorithm for point in sweep.points]
    assert [table.part for table in tables] == ["user_dp_fedavg", "fedavg", "trimmed_mean"]
    assert [point.combination for point in sweep.points] == [
        "algorithm=much noise",
        "algorithm=fedavg",
        "algorithm=trimmed_mean",
    ]
    assert tables[0].noise_multiplier == 3.0  # type: ignore[attr-defined]
    assert tables[0].clip_bound == 0.5  # type: ignore[attr-defined]
    assert tables[1].local.model_dump() == tables[0].local.model_dump()  # type: ignore[attr-defined]
    assert tables[2].clip_bound == 0.5  # type: ignore[attr-defined]
    assert not sweep.axes[0].numeric


def test_false_among_tables_takes_the_table_out() -> None:
    attack = {"who": {"name": "random", "count": 2}, "data": [{"name": "label_flip", "target": 0}]}
    sweep = sweep_of({"attack": [False, attack]})
    assert [point.combination for point in sweep.points] == ["attack=none", "attack=count=2 data=label_flip"]
    assert sweep.points[0].experiment.attack is None
    assert sweep.points[1].experiment.attack is not None
    sweep = sweep_of({"attack": [False, {"who": {"name": "random", "count": 3}}]}, attack=attack)
    assert sweep.points[0].experiment.attack is None
    changed = sweep.points[1].experiment.attack
    assert changed is not None
    assert (changed.who.count, changed.data[0].part) == (3, "label_flip")  # type: ignore[attr-defined]


def test_another_part_forgets_what_the_one_before_was_told() -> None:
    samplers = [{"name": "fixed_size", "size": 4}, {"rate": 0.5}]
    sweep = sweep_of({"algorithm.sampler": samplers})
    assert [point.experiment.algorithm.sampler.part for point in sweep.points] == [  # type: ignore[attr-defined]
        "fixed_size",
        "poisson",
    ]


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ({}, ["file.toml must have a table [sweep] with seeds, or keys and lists of values"]),
        ({"seeds": 0}, ["seeds must be how many from the file's own on", "got 0"]),
        ({"seeds": [1, 1]}, ["seeds must be", "got [1, 1]"]),
        ({"seeds": True}, ["seeds must be"]),
        ({"rounds": 3}, ["rounds must be a list of the values that it takes, got 3"]),
        ({"rounds": []}, ["rounds must be a list"]),
        ({"rounds": [3, 3.0]}, ["values of rounds must differ, got 3 twice"]),
        ({"seed": [1, 2]}, ["seed must be written as seeds = N", "did you mean 'seeds'"]),
        (
            {"rounds": [1], "seeds": 0, "evaluation": {"every": 2}},
            ["seeds must be", "evaluation.every must be a list"],
        ),
        (
            {"algorithm.noise_multplier": [1.0, 2.0]},
            ["unknown key 'noise_multplier'; did you mean 'noise_multiplier'"],
        ),
        ({"rounds": [1, 0, -1]}, ["rounds must be at least 1, got 0 (with rounds=0)", "got -1"]),
        ({"algorithm": [{"preset": "kurm"}]}, ["did you mean 'krum'", "(with algorithm=kurm)"]),
        ({"algorithm": [{"preset": "krum"}]}, ["algorithm.malicious is missing"]),
        ({"algorithm": [{"label": 3}]}, ["label of algorithm must be text, got 3"]),
        ({"rounds.x": [1]}, ["rounds.x cannot be set: x is not in a table"]),
        ({"seeds": 5000, "rounds": [1, 2, 3]}, ["at most 10,000 trainings, got 15,000"]),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_value(table: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(InvalidValue) as error:
        sweep_of(table)
    assert "file.toml" in str(error.value)
    for message in messages:
        assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ({}, "got none"),
        ({"swep": {"seeds": 2}}, "got none, but 'swep'; did you mean 'sweep'?"),
        ({"sweep": {}}, "got {}"),
        ({"sweep": "none"}, "got 'none'"),
    ],
)
def test_a_file_without_a_sweep_is_told_what_it_has(content: dict[str, Any], got: str) -> None:
    with pytest.raises(InvalidValue) as error:
        read_sweep(content, "file.toml")
    assert str(error.value) == (
        f"file.toml must have a table [sweep] with seeds, or keys and lists of values, {got}"
    )


def test_what_is_wrong_with_all_is_said_once() -> None:
    with pytest.raises(InvalidValue) as error:
        sweep_of({"rounds": [1, 2, 3, 4], "seeds": 5}, model={"name": "mpl"})
    assert str(error.value).count("did you mean 'mlp'") == 1


def test_what_does_not_fit_the_data_is_said_before_anything_runs() -> None:
    sweep = sweep_of(
        {"algorithm.sampler": [{"name": "fixed_size", "size": 5}, {"name": "fixed_size", "size": 50}]}
    )
    with pytest.raises(
        InvalidValue, match=r"does not fit together:\n  cohort size must be at most .* got 50 \(with"
    ):
        prepare_sweep(sweep)


def test_every_training_is_what_it_would_be_by_itself(tmp_path: Path) -> None:
    attack = {"who": {"name": "random", "count": 2}, "data": [{"name": "label_flip", "target": 0}]}
    sweep = sweep_of({"seeds": 2, "algorithm.noise_multiplier": [0.5, 2.0], "attack": [False, attack]})
    steps = carried_out(sweep, tmp_path / "sweep")
    assert steps[-1].done == steps[-1].total == 8 * 2
    # Of twelve users at most all train in the first round, once for every seed and kind of data.
    assert steps[-1].run < steps[-1].asked
    for point in sweep.points:
        with open_run(tmp_path / "alone" / point.directory) as directory:
            for _ in run(prepare(point.experiment), directory):
                pass
        both = [tmp_path / kind / point.directory for kind in ("sweep", "alone")]
        models = [torch.load(path / "model.pt") for path in both]
        assert all(models[0][name].equal(models[1][name]) for name in models[0])
        assert RunDirectory(both[0]).result() == RunDirectory(both[1]).result()
        assert (both[0] / "ledger.json").read_text() == (both[1] / "ledger.json").read_text()


def test_the_first_round_of_all_noise_levels_is_trained_once(tmp_path: Path) -> None:
    one = carried_out(sweep_of({"algorithm.noise_multiplier": [1.0]}, rounds=1), tmp_path / "one")
    four = carried_out(
        sweep_of({"algorithm.noise_multiplier": [0.5, 1.0, 2.0, 3.0]}, rounds=1), tmp_path / "four"
    )
    assert four[-1].run == one[-1].run
    assert four[-1].asked == 4 * one[-1].asked


def test_local_trainings_that_draw_noise_are_not_shared(tmp_path: Path) -> None:
    algorithm = {
        "preset": "ldp_fedsgd",
        "noise_multiplier": 1.0,
        "clip_bound": 1.0,
        "sampler": {"name": "everyone"},
    }
    steps = carried_out(
        sweep_of({"algorithm.clip_bound": [0.5, 1.0]}, algorithm=algorithm), tmp_path / "sweep"
    )
    assert steps[-1].run == steps[-1].asked == 2 * 2 * 12


@pytest.mark.parametrize("moment", [0, 9, 25, 60, 95])
def test_a_killed_sweep_goes_on_to_the_same_end(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = sweep_of({"seeds": 2, "algorithm.noise_multiplier": [0.5, 2.0]})
    carried_out(sweep, tmp_path / "whole")
    with monkeypatch.context() as patch:
        kill_at(patch, moment)
        with pytest.raises(Killed):
            carried_out(sweep, tmp_path / "killed")
    steps = carried_out(sweep, tmp_path / "killed")
    assert steps[-1].done == steps[-1].total
    for point in sweep.points:
        models = [torch.load(tmp_path / kind / point.directory / "model.pt") for kind in ("whole", "killed")]
        assert all(models[0][name].equal(models[1][name]) for name in models[0])
    assert read_rows(sweep, tmp_path / "killed") == read_rows(sweep, tmp_path / "whole")
    # What is finished is not run again.
    assert carried_out(sweep, tmp_path / "killed")[-1].asked == 0


def test_more_values_later_leave_what_is_finished(tmp_path: Path) -> None:
    carried_out(sweep_of({"algorithm.noise_multiplier": [1.0]}), tmp_path)
    more = sweep_of({"algorithm.noise_multiplier": [1.0, 2.0]})
    steps = carried_out(more, tmp_path)
    assert 0 < steps[-1].asked <= 2 * 12
    assert len(read_rows(more, tmp_path)) == 2


def test_means_and_intervals_are_over_seeds(tmp_path: Path) -> None:
    sweep = sweep_of({"seeds": 3, "algorithm.noise_multiplier": [1.0, 9.0]})
    carried_out(sweep, tmp_path)
    rows = read_rows(sweep, tmp_path)
    assert [row.labels for row in rows] == [{"noise_multiplier": "1"}, {"noise_multiplier": "9"}]
    for row in rows:
        read = [json.loads((tmp_path / name / "result.json").read_text()) for name in row.directories]
        own = [each["accuracy"] for each in read]
        found = row.measures["accuracy"]
        assert found.mean == pytest.approx(sum(own) / 3)
        assert found.mean is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.mean < found.high
        assert row.epsilon == read[0]["guarantee"]["epsilon"]
        assert row.seeds == (4, 5, 6)
    assert rows[0].epsilon is not None
    assert rows[1].epsilon is not None
    assert rows[0].epsilon > rows[1].epsilon


def test_an_interval_is_students_and_stays_where_values_can_be() -> None:
    found = Mean.of([0.5, 0.6, 0.7])
    assert found.low == pytest.approx(0.6 - 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert Mean.of([0.9, 1.0, 1.0], most=1.0).high == 1.0
    assert Mean.of([0.0, 0.0, 0.1]).low == 0.0
    assert Mean.of([math.nan, 1.0]).low is None


def test_names_of_directories_are_safe() -> None:
    axis = SweepAxis.of("algorithm", [{"label": "../a/b c", "preset": "fedavg"}, {"preset": "fedavg"}])
    assert axis.labels == ("../a/b c", "fedavg")
    sweep = sweep_of({"algorithm": list(axis.values)})
    assert [point.directory for point in sweep.points] == [
        "algorithm=.._a_b_c,seed=4",
        "algorithm=fedavg,seed=4",
    ]
    with pytest.raises(InvalidValue, match="would have one directory; give them different labels"):
        sweep_of({"algorithm": [{"label": "a b"}, {"label": "a/b"}]})


def test_tables_without_a_label_are_named_by_what_they_say() -> None:
    sweep = sweep_of({"algorithm": [{"clip_bound": 1.0}, {"clip_bound": 2.0}]})
    assert sweep.axes[0].labels == ("clip_bound=1", "clip_bound=2")
    assert SweepAxis.of("algorithm.sampler", [{"name": "x"}, {"name": "x", "y": 1}]).labels == ("x 1", "x 2")


@settings(max_examples=200)
@given(
    st.sampled_from(CONTENTS),
    st.dictionaries(
        st.sampled_from(["seeds", "rounds", "algorithm", "attack", "algorithm.local.epochs", "data", "x.y"])
        | st.text(max_size=6),
        st.lists(values, max_size=3) | scalars | values,
        max_size=3,
    ),
)
def test_any_sweep_is_valid_or_a_clear_error(content: dict[str, Any], table: dict[str, Any]) -> None:
    try:
        assert isinstance(read_sweep({**content, "sweep": table}, "file.toml"), Sweep)
    except InvalidValue as error:
        assert "file.toml" in str(error)  # noqa: PT017
