from __future__ import annotations

import json
from pathlib import Path

import pytest

from config.tiny_sweep import sweep_of
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
