"""The modes of what runs write: whatever holds a seed, a state or single users is for its owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedward.rundir.store import open_run
from studies.self_protected_runs import INSDP, setup_for
from tiny_experiment import CONTENT
from training_steps import run

PRIVATE = {"digests.jsonl", "run.json", "checkpoint.pt", "telemetry.jsonl", "users.json"}


@pytest.fixture(autouse=True)
def _no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("algorithm", [CONTENT["algorithm"], INSDP], ids=["by the server", "by the users"])
def test_seeds_states_and_telemetry_are_for_their_owner_alone(
    algorithm: dict[str, object], tmp_path: Path
) -> None:
    with open_run(tmp_path / "run") as directory:
        list(run(setup_for(algorithm), directory))
    modes = {
        file.name: stat.S_IMODE(file.stat().st_mode)
        for file in (tmp_path / "run").iterdir()
        if not file.name.startswith(".")
    }
    wide = {name for name, mode in modes.items() if mode & 0o077}
    assert modes.keys() - wide == PRIVATE & modes.keys()
    assert {"run.json", "checkpoint.pt", "telemetry.jsonl"} < modes.keys()


def test_the_scores_of_an_attack_are_for_their_owner_alone(members: Path) -> None:
    kept = [members / "run.json", *members.glob("*.npz")]
    assert len(kept) > 1
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}
