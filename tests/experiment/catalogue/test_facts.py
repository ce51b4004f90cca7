from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiment.catalogue.run_directories import make_run
from fedward.experiment.catalogue.facts import read, stamp


def test_a_run_has_its_experiments_keys_and_what_was_found(tmp_path: Path) -> None:
    run = read(make_run(tmp_path / "a", accuracy=0.9, epsilon=2.5))
    assert (run.kind, run.state, run.note) == ("run", "finished", "")
    assert run.facts["algorithm.sampler.name"] == "everyone"
    assert (run.facts["accuracy"], run.facts["epsilon"], run.facts["versions.fedward"]) == (0.9, 2.5, "1")
    assert [record["round"] for record in run.rounds] == [0, 1]
    assert "attack" not in run.facts
    assert run.facts["statement"] == "words"  # an ε never goes without what it is about


def test_what_has_no_guarantee_has_no_epsilon(tmp_path: Path) -> None:
    assert "epsilon" not in read(make_run(tmp_path / "a")).facts


def test_a_run_under_way_shows_its_last_measurement(tmp_path: Path) -> None:
    run = read(make_run(tmp_path / "a", finished=False))
    assert run.state == "unfinished"
    assert (run.facts["accuracy"], run.facts["measured_after"]) == (0.6, 2)


def test_replicas_show_what_their_variants_share(tmp_path: Path) -> None:
    variants = {
        f"noise={noise}": {"seed": 1, "algorithm": {"preset": "user_dp_fedavg", "noise_multiplier": noise}}
        for noise in (1.0, 2.0)
    }
    (tmp_path / "run.json").write_text(
        json.dumps({"experiment": {"variants": variants, "save_space": False}})
    )
    for start in (0, 4):
        np.savez(tmp_path / f"scores-{start:06d}-{start + 4:06d}.npz", scores=np.zeros(1))
    run = read(tmp_path)
    assert (run.kind, run.state) == ("replicas", "unfinished")
    assert (run.facts["variants"], run.facts["replicas"]) == (2, 8)
    assert run.facts["algorithm.preset"] == "user_dp_fedavg"
    assert "algorithm.noise_multiplier" not in run.facts


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"experiment": 3}', '{"experiment": {"variants": {}}}', "\0"]
)
def test_a_damaged_run_is_one_that_says_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    run = read(tmp_path)
    assert run.state == "damaged"
    assert run.note


def test_the_stamp_changes_when_a_run_goes_on(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a", finished=False)
    before = stamp(path)
    assert stamp(path) == before
    with (path / "rounds.jsonl").open("a") as file:
        file.write('{"round": 2, "accuracy": 0.9}\n')
    assert stamp(path) != before
