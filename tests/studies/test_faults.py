"""Every study under faults of the disk, the power, signals, memory, the clock and workers, by seeds.

What a failure prints is enough to see it again: ``python benchmarks/faults.py --first SEED --seeds 1``.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from fedward.base import durable_files
from fedward.rundir.store import RunDirectory
from fedward.studies.inference.attacked_trainings import AttackedTraining
from fedward.studies.progress import Clock
from studies.faults.fault_schedule import CODES, SIGNALS, WORKERS
from studies.faults.fault_trial import schedule_of, try_seed, undisturbed
from studies.faults.faulted_studies import ALL
from studies.faults.simulated_disk import SimulatedDisk

SEEDS = (*range(200), 1389)
"""The last found that power lost after an error of the disk leaves zeros in the middle of a line."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_study_under_faults_ends_with_the_same_bits_and_forgets_no_budget(
    seed: int, tmp_path: Path
) -> None:
    trial = try_seed(seed, tmp_path)
    assert not trial.problem, f"{trial.problem}: {trial.schedule}"


def test_the_seeds_cover_every_study_and_every_fault() -> None:
    schedules = [schedule_of(seed) for seed in SEEDS]
    kinds = {fault.kind for schedule in schedules for fault in schedule.faults}
    assert {schedule.study for schedule in schedules} == set(ALL)
    assert kinds >= {*CODES, *SIGNALS, *WORKERS, "killed", "power loss", "out of memory", "clock"}
    assert schedules == [schedule_of(seed) for seed in SEEDS]


def fails(*seeds: int, folder: Path) -> list[str]:
    problems = []
    for seed in seeds:
        (folder / str(seed)).mkdir()
        problems.append(try_seed(seed, folder / str(seed)).problem)
    return problems


def some_of(kind: str, count: int, study: str) -> list[int]:
    """Seeds whose only fault is of this kind, in this study; before anything is broken on purpose.

    What the study is compared with is carried out here, where it is still healthy.
    """
    undisturbed(study)
    found = (schedule_of(seed) for seed in range(20_000))
    fit = (s.seed for s in found if [f.kind for f in s.faults] == [kind] and study == s.study)
    return [seed for seed, _ in zip(fit, range(count), strict=False)]


def no_sync(directory: Path) -> None:
    """Stands for a ``sync_directory`` that somebody forgot."""


def test_names_that_are_not_synced_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = some_of("power loss", 60, "training")
    monkeypatch.setattr(durable_files, "sync_directory", no_sync)
    problems = fails(*seeds, folder=tmp_path)
    assert any("budget is forgotten" in problem for problem in problems)


def test_content_that_is_not_synced_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_only(descriptor: int, content: bytes) -> None:
        os.write(descriptor, content)

    seeds = some_of("power loss", 60, "sweep")
    monkeypatch.setattr(durable_files, "write_whole", write_only)
    assert any(fails(*seeds, folder=tmp_path))


def test_a_round_that_is_not_reserved_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = RunDirectory.reserve

    def late(place: RunDirectory, ledger: Any, users: Any = None) -> None:
        if ledger.reserved.first_round == 0:
            real(place, ledger, users)

    seeds = some_of("killed", 10, "training, system entropy")
    monkeypatch.setattr(RunDirectory, "reserve", late)
    problems = fails(*seeds, folder=tmp_path)
    assert any("round 1 runs and 1 are paid for" in problem for problem in problems)


def test_a_clock_that_is_set_back_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = some_of("clock", 5, "training")
    monkeypatch.setattr(Clock, "_elapsed", lambda clock: -1.0)
    assert any("seconds are left" in each for each in fails(*seeds, folder=tmp_path))


def test_a_leftover_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = some_of("killed", 3, "membership")
    monkeypatch.setattr(AttackedTraining, "forget", lambda training: None)
    assert "is there only once" in "".join(fails(*seeds, folder=tmp_path))


def test_a_disk_without_power_keeps_what_was_synced_and_no_more_than_was_written(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    (root / "old").write_bytes(b"old")
    disk = SimulatedDisk(root)
    found = set()
    for number in range(40):
        with pytest.MonkeyPatch.context() as patch:
            disk.watch(patch, lambda kind: None)
            durable_files.write_atomically(root / "safe", b"safe")
            (root / "old").write_bytes(b"older")
            (root / "new").write_bytes(b"new")
            os.replace(root / "new", root / "renamed")
        image = disk.after_power_loss(random.Random(number))
        assert image["safe"] == b"safe"
        old = image["old"]
        assert old is not None
        assert old.startswith(b"old")
        found.add((image["old"], image.get("renamed")))
        disk.restore({"old": b"old"})
        assert [each.name for each in root.iterdir()] == ["old"]
    disk.close()
    assert {(b"old", None), (b"older", b"new")} <= found
