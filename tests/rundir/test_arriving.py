from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment, from_content
from fedward.core.reserve_ahead import reserve_ahead
from fedward.privacy import Guarantee
from fedward.rundir.arriving import Files, finish_elsewhere, read_files
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.training.setup import prepare
from fedward.studies.training.training_study import manifest
from tiny_experiment import CONTENT

SAY_WHEN = ("run.json", "digests.jsonl", ".lock")


def run(out: Path, **more: Any) -> None:
    fedward.train(CONTENT, out=out, compute=fedward.Compute(workers=0), quiet=True, **more)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that was run elsewhere."""
    run(out := tmp_path_factory.mktemp("elsewhere") / "run")
    return out


def begin(path: Path) -> None:
    """Begins the same training here and reserves all of it."""
    experiment: Experiment = from_content(CONTENT)
    setup = prepare(experiment)
    with open_run(path) as place:
        place.begin(manifest(setup))
        state = setup.algorithm.init(setup.parameters, num_users=10)
        roster = setup.federation.roster
        ahead = reserve_ahead(setup.algorithm, state, roster, rounds=2, seed=1, budget=None)
        place.reserve(ahead.ledger, ahead.users)


def same(one: Path, other: Path) -> bool:
    names = [{file.name for file in path.iterdir()} - set(SAY_WHEN) for path in (one, other)]
    return names[0] == names[1] and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names[0]
    )


def spent(path: Path) -> Guarantee:
    place = RunDirectory(path)
    found = place.spent(place.manifest(), finished=False).guarantee(place.manifest())
    assert found is not None
    return found


def arrive(path: Path, files: Files) -> None:
    with open_run(path) as place:
        finish_elsewhere(place, files)


def test_a_training_that_arrives_is_as_if_it_had_been_run_here(tmp_path: Path, finished: Path) -> None:
    begin(tmp_path / "run")
    said = json.loads((tmp_path / "run" / "ledger.json").read_text())
    assert (said["entries"], said["reserved"]["count"], said["later"][0]["count"]) == ([], 1, 1)
    arrive(tmp_path / "run", read_files(finished))
    assert same(tmp_path / "run", finished)
    assert spent(tmp_path / "run") == spent(finished)


def test_one_that_never_arrives_is_run_here_and_was_charged_from_the_beginning(
    tmp_path: Path, finished: Path
) -> None:
    begin(tmp_path / "run")
    reserved = spent(tmp_path / "run")
    assert reserved.epsilon == spent(finished).epsilon
    assert "2 more charged: reserved, not released" in reserved.caveat
    run(tmp_path / "run")
    assert same(tmp_path / "run", finished)


def test_killed_while_it_arrives_it_goes_on_to_the_same_bytes(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = read_files(finished)
    for last in range(len(files)):
        out = tmp_path / str(last)
        begin(out)
        written = 0

        def write(path: Path, content: bytes, *, private: bool = False, stop: int = last) -> None:
            nonlocal written
            if written == stop:
                raise KeyboardInterrupt
            written += path.suffix != ".jsonl" or path.name != "digests.jsonl"
            path.write_bytes(content)
            path.chmod(0o600 if private else 0o644)

        with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
            patched.setattr("fedward.rundir.run_files.write_atomically", write)
            arrive(out, files)
        run(out)
        assert same(out, finished), last


def test_one_that_has_spent_something_else_is_refused(tmp_path: Path, finished: Path) -> None:
    begin(tmp_path / "run")
    run(tmp_path / "other", changes=["algorithm.noise_multiplier=3.0"])
    with pytest.raises(InvalidValue, match="with what was reserved for it, got another ledger"):
        arrive(tmp_path / "run", read_files(tmp_path / "other"))
    assert not (tmp_path / "run" / "model.pt").exists()
