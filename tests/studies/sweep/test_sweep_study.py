from __future__ import annotations

from pathlib import Path

import pytest
import torch

from config.tiny_sweep import sweep_of
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Sweep
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.progress import Progress
from fedward.studies.sweep.sweep_results import read_rows
from fedward.studies.sweep.sweep_study import plan_sweep
from fedward.studies.training.training_study import prepare
from studies.killing import Killed, kill_at
from training_steps import run


def carried_out(sweep: Sweep, path: Path) -> list[Progress]:
    return list(plan_sweep(sweep).steps(RunDirectory(path)))


def test_what_does_not_fit_the_data_is_said_before_anything_runs() -> None:
    sweep = sweep_of(
        {"algorithm.sampler": [{"name": "fixed_size", "size": 5}, {"name": "fixed_size", "size": 50}]}
    )
    with pytest.raises(
        InvalidValue, match=r"does not fit together:\n  cohort size must be at most .* got 50 \(with"
    ):
        plan_sweep(sweep)


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
