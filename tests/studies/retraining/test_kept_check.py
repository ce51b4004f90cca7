from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fedward
from config.tiny_sweep import CONTENT
from fedward.certificates.checking import read_evidence
from fedward.certificates.replica_scores import Replicas
from fedward.config.experiment import from_content
from fedward.studies.retraining import kept_check
from fedward.studies.retraining.kept_check import KeptCheck
from fedward.studies.retraining.retrained_experiment import read_beside
from fedward.studies.retraining.retraining_study import Retraining, choose_replicas, plan_retraining
from fedward.studies.training.training_study import prepare
from tiny_experiment import changed

HERE = fedward.Compute(workers=0)
M, N = 6, 4
DECLARED = changed(CONTENT, privacy__users=12)


@pytest.fixture(scope="module", params=["confidence", "vote"])
def certified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate; not to be changed."""
    folder = tmp_path_factory.mktemp("certified")
    fedward.certify(DECLARED, replicas=M, score=request.param, out=folder / "run", compute=HERE, quiet=True)
    return folder / "run" / "certificate.json"


@pytest.fixture(autouse=True)
def _kept_after_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_check, "SAVE_EVERY", -1.0)


def study(file: Path, content: dict[str, Any] = DECLARED) -> Retraining:
    stored, scores = read_evidence(file)
    count = N if hasattr(scores, "scores") else M
    return plan_retraining(
        stored,
        scores,
        prepare(from_content(content)),
        choose_replicas(scores, stored.version, count),
        seed=None,
        beside=read_beside(file),
        source="file.toml",
    )


def blocks_of(count: int, made: Retraining) -> Retraining:
    return replace(made, run=replace(made.run, block=count))


def kept_files() -> Iterator[Path]:
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "fedward" / "seen"
    return (each for each in folder.glob("*") if each.name != "key")


@pytest.mark.parametrize("block", [1, 2, 10])
def test_a_check_that_is_killed_after_every_step_goes_on_with_the_same_replicas(
    certified: Path, block: int
) -> None:
    before = {each.name: each.read_bytes() for each in certified.parent.iterdir()}
    chosen, steps, trained, kept = set(), 0, 0, None
    for kill_after in range(1, 100):
        made = blocks_of(block, study(certified))
        kept = made.open(HERE)
        chosen.add(kept.chosen)
        done = 0
        for step in made.steps(kept, HERE):
            done += 1
            trained = max(trained, step.finished)
            if done == kill_after:
                break  # as a kill does: nothing is tidied up
        else:
            break
        steps += done
    assert kept is not None
    found = made.result(kept, HERE)
    assert len(chosen) == 1
    assert found.agrees
    assert found.bit_for_bit == len(found.chosen) == len(found.compared)
    assert set(found.compared) == set(found.chosen) == set(chosen.pop())
    assert found.earlier > 0 or block > 1
    assert not list(kept_files())
    assert before == {each.name: each.read_bytes() for each in certified.parent.iterdir()}


def begun(file: Path, steps: int = 5) -> KeptCheck:
    """A check that was killed after its first replica."""
    made = blocks_of(1, study(file))
    kept = made.open(HERE)
    for number, _ in enumerate(made.steps(kept, HERE)):
        if number == steps:
            break
    assert kept.comparison.compared
    return kept


def test_what_is_kept_belongs_to_one_certificate_and_one_experiment(certified: Path, tmp_path: Path) -> None:
    kept = begun(certified)
    again = study(certified).open(HERE)
    assert again.comparison.compared == kept.comparison.compared
    others = shutil.copytree(certified.parent, tmp_path / "others")
    assert study(others / certified.name).open(HERE).about == kept.about  # the same one, elsewhere
    made = study(certified)
    for other in (
        replace(made, certificate=made.certificate.replace('"version": 2', '"version":  2')),
        replace(made, chosen=made.chosen[:-1]),
        replace(made, seed=1),
        replace(made, run=replace(made.run, draw="0" * 32)),
    ):
        assert not other.open(HERE).comparison.compared


def test_what_was_edited_or_is_somebody_elses_is_not_gone_on_with(certified: Path) -> None:
    begun(certified)
    (file,) = kept_files()
    assert file.stat().st_mode & 0o077 == 0
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert not study(certified).open(HERE).comparison.compared


def test_states_that_are_too_large_to_keep_are_trained_once_more(
    certified: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = begun(certified, steps=4)
    assert kept.states
    (file,) = kept_files()
    monkeypatch.setattr("fedward.base.own_cache.LARGEST", file.stat().st_size - 1)
    kept.save(kept.states)
    again = study(certified).open(HERE)
    assert (again.states, again.comparison.compared) == ((), kept.comparison.compared)


def test_a_disagreement_is_found_again_and_not_forgotten(certified: Path) -> None:
    made = blocks_of(1, study(certified))
    # Whoever is checked has put another replica in the place of the third that is chosen.
    scores = made.scores
    if not isinstance(scores, Replicas):
        pytest.skip("a tally is compared as a whole")
    false = scores.scores.copy()
    false[made.chosen[2]] = false[made.chosen[2]][::-1]
    made = replace(made, scores=replace(scores, scores=false))
    for _ in range(2):
        kept = made.open(HERE)
        for _ in made.steps(kept, HERE):
            pass
        found = made.result(kept, HERE)
        assert [each.replica for each in found.disagreements] == [made.chosen[2]]
        assert list(kept_files())
