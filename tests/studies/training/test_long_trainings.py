"""A long training: what a round reads does not grow with the rounds before it."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from fedward.config.experiment import from_content
from fedward.rundir.results import Measured
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.training.setup import prepare
from tiny_experiment import CONTENT
from training_steps import run

IO = Path("/proc/self/io")


@pytest.mark.skipif(not IO.exists(), reason="bytes are counted by Linux' /proc")
def test_no_round_reads_what_was_written_in_the_rounds_before(tmp_path: Path) -> None:
    setup = prepare(from_content(CONTENT | {"rounds": 40}))
    with open_run(tmp_path / "run") as directory:
        counts = [int(IO.read_text().split()[1]) for _ in run(setup, directory)]
        grown = (tmp_path / "run" / "rounds.jsonl").stat().st_size
    read = [after - before for before, after in itertools.pairwise(counts)]
    assert grown > 2000
    # A few bytes more: counts and digests of larger files have more digits.
    assert max(read[-10:]) - min(read[:10]) < 100


def test_the_last_measurement_is_that_of_the_file_without_reading_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(tmp_path)
    assert directory.last_measured() is None
    for round, loss in enumerate((0.5, math.inf)):
        directory.save_metrics(round, Measured(accuracy=0.25, loss=loss))
        assert directory.last_measured() == RunDirectory(tmp_path).last_measured() == directory.metrics()[-1]
    monkeypatch.setattr(RunDirectory, "metrics", lambda self: pytest.fail("it was read again"))
    found = directory.last_measured()
    assert found is not None
    assert found.round == 1


def test_what_a_session_cuts_off_is_not_remembered(tmp_path: Path) -> None:
    """Killed between measuring a round and storing it: the round is done again, and measured again."""
    directory = RunDirectory(tmp_path)
    directory.save_metrics(0, Measured(accuracy=0.25, loss=0.5))
    assert directory.load_state() is None
    assert directory.last_measured() is None
