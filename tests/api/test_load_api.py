from __future__ import annotations

import json
from pathlib import Path

import pytest

import fedward
from command_line import exit_code
from fedward.base.validate import InvalidValue
from fedward.rundir.sweep_record import SweepRecord
from tiny_experiment import TEXT

SWEEP = TEXT + "[sweep]\nseeds = [1, 2]\n'algorithm.noise_multiplier' = [1.0, 2.0]\n"


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("noise.toml").write_text(SWEEP)
    assert exit_code("sweep", "noise.toml", "--workers", "0", monkeypatch=monkeypatch) == 0
    return Path("runs/noise-sweep")


def test_a_sweep_is_read_with_its_runs_and_reported_whole(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fedward.load(sweep)
    assert isinstance(found, SweepRecord)
    assert len(found.combinations) == 2
    assert len(found.runs) == 4
    table = found.to_pandas()
    assert list(table["labels.noise_multiplier"]) == ["1", "2"]
    one = fedward.load(found.runs[0])
    assert isinstance(one, fedward.RunRecord)
    assert one.finished
    assert exit_code("report", sweep, monkeypatch=monkeypatch) == 0
    page = Path("report.html").read_text(encoding="utf8")
    assert all(run.name in page for run in found.runs)


@pytest.mark.parametrize("content", [[], {}, {"combinations": []}, {"combinations": [{"runs": [1]}]}])
def test_a_damaged_sweep_is_one_error(content: object, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(content))
    with pytest.raises(InvalidValue, match=r"sweep\.json"):
        fedward.load(tmp_path)
