from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.config.overrides import apply_changes
from fedward.core.federation import Federation
from fedward.forecast import calibration
from fedward.forecast.calibration import calibrate
from fedward.forecast.forecast import forecast, jobs_of
from fedward.privacy import Guarantee
from fedward.rundir.results import ReplicasResult
from fedward.rundir.store import open_run
from fedward.studies.replicas.replica_study import ReplicaRun, run_replicas
from fedward.studies.training.setup import Setup, prepare
from studies.killing import run_to_end
from training_steps import run

CONTENT = tomllib.loads(
    """
    seed = 1
    rounds = 6
    [data]
    name = "synthetic"
    users = 20
    examples = 5
    features = 4
    classes = 3
    test_examples = 30
    [model]
    name = "logistic_regression"
    [algorithm]
    preset = "user_dp_fedavg"
    clip_bound = 0.5
    noise_multiplier = 2.0
    sampler = { name = "poisson", rate = 0.5 }
    local = { name = "sgd", learning_rate = 0.1, batch_size = 5, epochs = 1 }
    [privacy]
    users = 20
    accountant = "rdp"
    """
)
FEDERATION = from_content(CONTENT).load_data()


def setup_of(*changes: str, federation: Federation | None = FEDERATION) -> Setup:
    content: dict[str, Any] = apply_changes(copy.deepcopy(CONTENT), changes)
    return prepare(from_content(content), federation=federation)


def test_what_will_be_done_is_counted() -> None:
    found = forecast(setup_of(), measure=False)
    assert found.rounds == 6
    assert found.sizes == (5, 5, 5)
    assert found.parameters == 3 * (4 + 1)
    assert (found.jobs.cohort, found.jobs.asked, found.jobs.run) == (10.0, 60.0, 60.0)
    assert found.seconds is None
    assert found.calibration is None


def test_epsilon_at_the_end_is_what_the_run_will_have_spent(tmp_path: Path) -> None:
    setup = setup_of()
    found = forecast(setup, measure=False)
    result = run_to_end(setup, tmp_path / "run")
    assert found.spending.guarantee.to_json() == result["guarantee"]
    assert set(found.spending.others) == {"moments", "pld"}
    ordered = [found.spending.others["pld"], found.spending.guarantee, found.spending.others["moments"]]
    assert all(isinstance(each, Guarantee) for each in ordered)
    numbers = [each.epsilon for each in ordered]  # type: ignore[union-attr]
    assert numbers == sorted(numbers)


def test_an_accountant_without_a_proof_says_why() -> None:
    found = forecast(setup_of("algorithm.sampler={name='fixed_size', size=5}"), measure=False)
    assert "fixed-size sampling must be accounted by rdp" in str(found.spending.others["pld"])
    moments = found.spending.others["moments"]
    assert isinstance(moments, Guarantee)
    assert moments.papers_sampling


@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 6])
def test_the_budget_ends_training_where_the_forecast_says(rounds: int, tmp_path: Path) -> None:
    setup = setup_of(f"privacy.budget={setup_of().guarantee(rounds).epsilon * 1.001}")
    found = forecast(setup, measure=False)
    result = run_to_end(setup, tmp_path / "run")
    assert (found.rounds, found.spending.ended_by_budget) == (result["rounds"], result["stopped_by_budget"])
    assert found.rounds == rounds
    assert found.jobs.asked == rounds * 10


def test_a_budget_of_each_user_is_that_of_one_that_is_always_drawn() -> None:
    algorithm = (
        "algorithm={preset='insdp_fedavg', sampler={name='poisson', rate=0.5}, local={name='dp_sgd', "
        "learning_rate=0.1, probability=0.5, expected_batch=2.5, steps=1, noise_multiplier=2.0, "
        "clip_bound=1.0}}"
    )
    found = forecast(setup_of(algorithm, "privacy.delta=1e-3", "privacy.budget=1.5"), measure=False)
    assert 1 <= found.rounds < 6
    assert found.spending.guarantee.epsilon <= 1.5
    assert setup_of(algorithm, "privacy.delta=1e-3").guarantee(found.rounds + 1).epsilon > 1.5


def test_jobs_of_replicas_are_about_those_that_run(tmp_path: Path) -> None:
    setup = setup_of("rounds=3")
    wanted = ReplicaRun(variants={"all": setup}, replicas=30)
    with open_run(tmp_path / "run") as opened:
        for _ in run_replicas(wanted, opened):
            pass
        result = opened.result()
    assert isinstance(result, ReplicasResult)
    found = forecast(setup, replicas=30, measure=False)
    assert found.jobs.asked == pytest.approx(result.jobs_asked_for, rel=0.1)
    assert found.jobs.run == pytest.approx(result.jobs_run, rel=0.1)
    assert found.jobs.run < found.jobs.asked


def test_replicas_in_which_nothing_is_drawn_share_everything() -> None:
    changes = [
        "algorithm.preset='norm_bounding'",
        "algorithm.noise_multiplier=",
        "algorithm.sampler={name='everyone'}",
    ]
    jobs = jobs_of(setup_of(*changes), rounds=6, replicas=10)
    assert (jobs.asked, jobs.run) == (1200, 120)


def test_local_trainings_with_noise_are_not_shared() -> None:
    changes = [
        "algorithm={preset='ldp_fedsgd', clip_bound=1.0, noise_multiplier=2.0, sampler={name='everyone'}}"
    ]
    jobs = jobs_of(setup_of(*changes), rounds=6, replicas=10)
    assert jobs.asked == jobs.run == 1200


def test_what_replicas_cannot_be_is_said() -> None:
    with pytest.raises(InvalidValue, match="replicas are simulated and need seeded noise"):
        forecast(setup_of("algorithm.noise_source='system'"), replicas=5)


def test_disk_is_at_least_what_a_run_leaves(tmp_path: Path) -> None:
    setup = setup_of()
    with open_run(tmp_path / "run") as directory:
        for _ in run(setup, directory):
            pass
    left = sum(file.stat().st_size for file in (tmp_path / "run").iterdir())
    assert left / 5 < forecast(setup, measure=False).disk < left * 5
    scores = forecast(setup, replicas=1000, measure=False).disk
    assert scores > 1000 * 30 * 3 * 4


def test_a_calibration_measures_and_leaves_nothing() -> None:
    setup = setup_of()
    before = [parameter.clone() for parameter in setup.model.parameters()]
    found = forecast(setup)
    assert found.calibration is not None
    assert found.calibration.jobs >= 1
    assert min(found.calibration.job, found.calibration.finish, found.calibration.evaluation) > 0
    assert found.seconds is not None
    low, high = found.seconds
    assert 0 < low < high
    assert all(a.equal(b) for a, b in zip(before, setup.model.parameters(), strict=True))


def test_the_estimate_grows_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = calibration.Calibration(job=1.0, job_error=0.0, jobs=5, finish=0.5, evaluation=2.0)
    monkeypatch.setattr("fedward.forecast.forecast.calibrate", lambda *_, **__: fixed)
    short = forecast(setup_of(), compute=Compute(workers=1)).seconds
    longer = forecast(setup_of("rounds=12"), compute=Compute(workers=1)).seconds
    two = forecast(setup_of(), compute=Compute(workers=2)).seconds
    assert short is not None
    assert longer is not None
    assert two is not None
    work = 60 * 1.0 + 6 * (0.5 + 2.0)
    assert short[0] < work < short[1]
    assert longer[0] > short[0] * 1.8
    assert two[1] < short[1]


def test_a_calibration_that_is_impossible_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(calibration, "_jobs", fail)
    assert calibrate(setup_of(), IN_PROCESS) is None
    found = forecast(setup_of())
    assert found.seconds is None


def test_a_cohort_without_users_cannot_be_measured() -> None:
    assert calibrate(setup_of("algorithm.sampler.rate=1e-9"), IN_PROCESS) is None


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (["privacy.delta=0.06"], "δ = 0.06 is larger than 1/20, one over the users"),
        (["algorithm.noise_multiplier=0.3"], "is so large that it protects hardly anybody"),
        ([], "noise is seeded"),
        (
            [
                "algorithm={preset='local_dp', sampler={name='everyone'}, local={name='dp_sgd', "
                "learning_rate=0.1, probability=0.5, expected_batch=40.0, steps=1, noise_multiplier=2.0, "
                "clip_bound=1.0}}"
            ],
            "batches are expected to hold 2.5 examples, but expected_batch",
        ),
    ],
)
def test_what_deserves_attention_is_said(changes: list[str], note: str) -> None:
    assert note in "\n".join(forecast(setup_of(*changes), measure=False).cautions)


def test_a_sound_experiment_has_no_cautions() -> None:
    changes = ["algorithm.noise_source='system'", "privacy.delta=0.01"]
    assert forecast(setup_of(*changes), measure=False).cautions == ()
