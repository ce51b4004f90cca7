"""``fedward.plan``: from a file, its tables, a run, or no pilot at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fedward
from api.five_rounds import TABLES
from fedward.base.validate import InvalidType, InvalidValue

# Two lengths and two rates, and time enough for all of them: the same plan on every machine.
GRID: dict[str, Any] = {"sampling_rates": [0.3, 1.0], "rounds": [1, 2], "seconds": 1e6, "quiet": True}
PILOT: dict[str, Any] = TABLES | {
    "data": {
        "name": "synthetic",
        "users": 200,
        "examples": 10,
        "features": 6,
        "classes": 3,
        "test_examples": 60,
    },
    "algorithm": TABLES["algorithm"]
    | {"local": {"name": "sgd", "learning_rate": 1.0, "batch_size": 10, "epochs": 3}},
    "privacy": {"users": 200},
}
LOCAL = fedward.Compute(workers=0)


@pytest.fixture(scope="module")
def measured() -> fedward.PlanRecord:
    return fedward.plan(PILOT, k=1, epsilon=3.0, **GRID)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pilot") / "run"
    fedward.replicas(PILOT, replicas=12, out=path, compute=LOCAL, quiet=True)
    return path


def test_a_plan_without_a_pilot_has_one_answer_and_says_that_accuracy_is_unknown() -> None:
    found = fedward.plan(k=3, users=1000, epsilon=2.0, sampling_rates=[0.1, 1.0], rounds=[1, 3], quiet=True)
    answer = found.recommendation
    assert answer is not None
    assert answer.guarantee.epsilon <= 2.0
    assert answer.prospect.evidence == "unknown"
    assert found.words[0].startswith("Take noise multiplier z = ")
    assert any(words.startswith("Accuracy is unknown") for words in found.words)
    assert len(found.frontier) == found.tried == 4
    assert repr(found).startswith("PlanRecord(Take noise multiplier z = ")


def test_a_file_is_trained_and_the_answer_measured(measured: fedward.PlanRecord) -> None:
    answer = measured.recommendation
    assert answer is not None
    assert answer.prospect.shares is not None
    assert answer.guarantee.epsilon <= 3.0
    assert measured.clip_bound == 1.0
    assert measured.pilot is not None
    assert (measured.pilot.origin, measured.pilot.replicas) == ("file", 32)
    assert measured.seconds is not None
    assert 0 < measured.seconds[0] < measured.seconds[1]
    # One option of each length is trained; others of that length are scaled from it.
    assert {each.evidence for each in measured.frontier} <= {"measured", "scaled", "unknown"}
    assert any("covered by no ε" in words for words in measured.words)


def test_what_is_recommended_can_be_trained_and_keeps_what_was_predicted(
    measured: fedward.PlanRecord, tmp_path: Path
) -> None:
    answer = measured.recommendation
    assert answer is not None
    assert answer.prospect.shares is not None
    certified = fedward.certify(
        PILOT,
        changes=measured.changes,
        replicas=answer.replicas,
        score="vote",
        threats=["inject"],
        out=tmp_path / "run",
        compute=LOCAL,
        quiet=True,
    )
    assert certified.one_training("all").epsilon == answer.guarantee.epsilon <= 3.0
    assert certified.certified_accuracy(1) >= answer.prospect.shares.cautious
    assert int(certified.certificates["all"].attacks[0].k.max()) <= answer.ceiling
    stated = certified.certificates["all"].releasing_all.epsilon
    assert answer.releasing_all.epsilon == pytest.approx(stated, rel=0.3)


def test_a_run_is_a_pilot_for_its_own_number_of_rounds(run: Path) -> None:
    by_path = fedward.plan(run, k=1, epsilon=3.0, sampling_rates=[0.1, 0.5], quiet=True)
    record = fedward.load(run)
    assert isinstance(record, fedward.ReplicasRecord)
    by_record = fedward.plan(record, k=1, epsilon=3.0, sampling_rates=[0.1, 0.5], quiet=True)
    assert by_path.recommendation == by_record.recommendation
    assert {each.option.noise.rounds for each in by_path.frontier} == {5}
    assert by_path.goal.users == 200
    assert by_path.goal.classes == 3
    assert by_path.pilot is not None
    assert (by_path.pilot.origin, by_path.pilot.replicas) == ("run", 12)


def test_a_record_is_saved_drawn_and_made_rows(measured: fedward.PlanRecord, tmp_path: Path) -> None:
    measured.save(tmp_path / "plan.json")
    stored = json.loads((tmp_path / "plan.json").read_text(encoding="utf8"))
    assert stored["recommendation"]["changes"] == measured.changes
    assert stored["recommendation"]["epsilon"] <= 3.0
    assert stored["predicts_accuracy"] is True
    measured.plot().save(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"
    rows = measured.rows()
    assert sum(row["recommended"] for row in rows) == 1
    assert len(rows) == len(measured.frontier)


def test_a_goal_out_of_reach_has_no_answer_and_says_so() -> None:
    found = fedward.plan(
        k=400, users=1000, epsilon=0.01, delta=1e-9, sampling_rates=[1.0], rounds=[1], replicas=20, quiet=True
    )
    assert found.recommendation is None or found.recommendation.guarantee.epsilon <= 0.01
    none = fedward.plan(k=90_000, users=1000, sampling_rates=[1.0], rounds=[1], top=0.51, quiet=True)
    assert none.recommendation is None
    assert none.words[0].startswith("Nothing of the 1 pairs")
    assert none.command == ""
    with pytest.raises(InvalidValue, match="nothing to draw"):
        none.plot()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "users must be given where there is no pilot"),
        ({"users": 100, "top": 0.4}, "top must be above 0.5 and below 1, got 0.4"),
        ({"pilot": PILOT, "top": 0.9}, "top must not be given together with a pilot"),
        ({"pilot": PILOT, "classes": 7}, "classes must be those of the pilot, 3, got 7"),
        ({"pilot": PILOT | {"attack": {}}}, r"neither an \[attack\] nor a \[sweep\]"),
        ({"pilot": PILOT | {"algorithm": {"preset": "fedavg"}}}, "with a noise_multiplier, such as"),
        ({"users": 100, "seconds": 0.0}, "seconds must be positive"),
    ],
)
def test_what_cannot_be_planned_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        fedward.plan(given.pop("pilot", None), k=1, quiet=True, **given)


def test_a_pilot_is_no_algorithm() -> None:
    with pytest.raises(InvalidType, match="a pilot must be a run of fedward replicas"):
        fedward.plan(3.5, k=1, users=10, quiet=True)  # type: ignore[arg-type]


def test_one_training_is_no_pilot(tmp_path: Path) -> None:
    fedward.train(PILOT, out=tmp_path / "one", compute=LOCAL, quiet=True)
    with pytest.raises(InvalidValue, match="it holds one training"):
        fedward.plan(tmp_path / "one", k=1, quiet=True)
