from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from config.tiny_sweep import sweep_of
from fedward.reports.terminal.sweep_table import table, to_csv
from fedward.rundir.store import RunDirectory
from fedward.studies.sweep.sweep_results import read_rows
from fedward.studies.sweep.sweep_study import plan_sweep


def test_means_and_intervals_are_over_seeds(tmp_path: Path) -> None:
    sweep = sweep_of({"seeds": 3, "algorithm.noise_multiplier": [1.0, 9.0]})
    list(plan_sweep(sweep).steps(RunDirectory(tmp_path)))
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
        assert row.guarantee.epsilon == read[0]["guarantee"]["epsilon"]
        assert row.seeds == (4, 5, 6)
    assert all(row.guarantee.private for row in rows)
    assert rows[0].guarantee.epsilon > rows[1].guarantee.epsilon


def test_a_defence_that_nobody_tried_who_knew_it_is_marked(tmp_path: Path) -> None:
    attack = {
        "who": {"name": "random", "count": 2},
        "knowledge": "cohort",
        "data": [{"name": "label_flip", "target": 0}],
    }
    known = {"name": "adaptive_backdoor", "steps": 2, "spreads": [0.0]}
    algorithm = {"preset": "median", "sampler": {"name": "fixed_size", "size": 8}}
    algorithm["local"] = {"name": "sgd", "learning_rate": 0.1, "batch_size": 3, "epochs": 1}
    presets = [algorithm, algorithm | {"preset": "geometric_median"}]
    models = [[{"name": "scale", "factor": 2.0}], [known]]
    both = sweep_of({"algorithm": presets, "attack.model": models}, attack=attack, privacy={})
    list(plan_sweep(both).steps(RunDirectory(tmp_path / "both")))
    assert not any(row.untried for row in read_rows(both, tmp_path / "both"))
    blind = sweep_of({"algorithm": presets, "attack.model": models[:1]}, attack=attack, privacy={})
    list(plan_sweep(blind).steps(RunDirectory(tmp_path / "blind")))
    rows = read_rows(blind, tmp_path / "blind")
    assert all(row.untried for row in rows)
    console = Console(file=io.StringIO(), width=120)
    table(console, rows)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert said.count("†") == 3
    assert "nobody tried this defence who knew it" in said
    assert [line.split(",")[-1] for line in to_csv(rows).splitlines()] == ["untried", "True", "True"]
