from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant

from command_line import Answer, answer
from tiny_experiment import TWENTY

EXPERIMENT = TWENTY + "delta = 1e-3\n"


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Runs the command in this process, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def epsilon_options(
    z: object = 3, q: object = 0.1, steps: object = 3, delta: object = 0.0029
) -> list[object]:
    return ["--noise-multiplier", z, "--sampling-rate", q, "--steps", steps, "--delta", delta]


@pytest.mark.parametrize(
    ("options", "decimals", "wanted"),
    [
        (epsilon_options(3.0, 0.1, 3), 4, 0.2808),
        (epsilon_options(0.5, 0.1, 3), 4, 6.9269),
        (epsilon_options(10, 0.2, 1), 4, 0.1083),
        (epsilon_options(1.5, 0.2, 4), 4, 1.6000),
        (epsilon_options(8, 0.05, 100, 1e-5), 4, 0.3158),
        (epsilon_options(4.0, 0.2, 300, 1e-5), 2, 4.72),
        (epsilon_options(3.5, 0.2, 15, 1e-5), 2, 1.27),
    ],
)
def test_moments_prints_the_papers_epsilon(
    fedward: Any, options: list[object], decimals: int, wanted: float
) -> None:
    answer = fedward("epsilon", *options, "--accountant", "moments", "--json")
    assert answer.code == 0
    assert round(answer.json()["epsilon"], decimals) == wanted


def test_pld_is_the_default_and_equals_dp_accounting_called_directly(fedward: Any) -> None:
    direct = PLDAccountant()
    direct.compose(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3)
    answer = fedward("epsilon", *epsilon_options(), "--json").json()
    assert answer["epsilon"] == pytest.approx(direct.get_epsilon(0.0029), rel=1e-8)
    assert answer["accountant"] == "pld"
    assert answer["epsilon"] < 0.2808


def test_looks_of_a_clip_policy_are_charged_and_shown_apart(fedward: Any) -> None:
    options = [*epsilon_options(4.0, 0.2, 300, 1e-5), "--looks", 15, "--look-noise", 3.5]
    paper = fedward("epsilon", *options, "--accountant", "moments")
    assert "as the papers add up: ε = 4.7208 + 1.2744 = 5.9952, δ = 1e-05 + 1e-05 = 2e-05" in paper.out
    together = fedward("epsilon", *options, "--accountant", "moments", "--json").json()
    assert round(together["epsilon_of_model"], 2) == 4.72
    assert round(together["epsilon_of_looks"], 2) == 1.27
    assert 4.72 < together["epsilon"] < 4.72 + 1.27
    assert fedward("epsilon", *options, "--json").json()["epsilon"] < together["epsilon"]
    assert fedward("epsilon", *epsilon_options(), "--looks", 4, "--look-noise", 1).code == 2
    assert "--look-noise is missing" in fedward("epsilon", *epsilon_options(), "--looks", 2).err


def test_epsilon_without_json_is_one_line_that_states_everything(fedward: Any) -> None:
    out = fedward("epsilon", *epsilon_options()).out
    assert len(out.splitlines()) == 1
    for stated in ("ε = 0.0879", "δ = 0.0029", "user", "add/remove", "Poisson", "q = 0.1", "pld", "3 rounds"):
        assert stated in out


def test_fixed_size_sampling_is_accounted_by_its_own_adjacency(fedward: Any) -> None:
    options = ["--noise-multiplier", 3, "--cohort-size", 20, "--users", 200, "--steps", 3, "--delta", 0.0029]
    rdp = fedward("epsilon", *options, "--accountant", "rdp", "--json").json()
    assert rdp["epsilon"] == pytest.approx(0.77, abs=0.005)
    paper = fedward("epsilon", *options, "--accountant", "moments")
    assert "0.2808" in paper.out
    assert "paper" in paper.out
    refused = fedward("epsilon", *options, "--accountant", "pld")
    assert refused.code == 2
    assert "rdp" in refused.err


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_calibrate_finds_noise_and_steps_within_the_budget(fedward: Any, accountant: str) -> None:
    common = ["--epsilon", 2.0, "--delta", 1e-5, "--sampling-rate", 0.1, "--accountant", accountant]
    noise = fedward("calibrate", *common, "--steps", 50, "--json").json()
    assert noise["epsilon"] <= 2.0
    less = fedward(
        "epsilon",
        *epsilon_options(noise["noise_multiplier"] * 0.999, 0.1, 50, 1e-5),
        "--accountant",
        accountant,
        "--json",
    )
    assert less.json()["epsilon"] > 2.0
    steps = fedward("calibrate", *common, "--noise-multiplier", 1.5, "--json").json()
    assert steps["epsilon"] <= 2.0
    more = fedward(
        "epsilon", *epsilon_options(1.5, 0.1, steps["steps"] + 1, 1e-5), "--accountant", accountant, "--json"
    )
    assert more.json()["epsilon"] > 2.0


FIXED = ["--noise-multiplier", 1, "--cohort-size", 5, "--steps", 1, "--delta", 0.1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (epsilon_options(z=-1), "noise multiplier must be positive and finite, got -1"),
        (epsilon_options(z=0), "noise multiplier must be positive"),
        (epsilon_options(z="nan"), "noise multiplier must be positive"),
        (epsilon_options(z="inf"), "noise multiplier must be positive"),
        (epsilon_options(q=1.1), "sampling rate must be above 0 and at most 1, got 1.1"),
        (epsilon_options(q=0), "sampling rate must be above 0"),
        (epsilon_options(q="nan"), "sampling rate must be above 0"),
        (epsilon_options(steps=0), "rounds must be at least 1, got 0"),
        (epsilon_options(delta=0), "delta must be above 0 and below 1"),
        (epsilon_options(delta=1), "delta must be above 0 and below 1"),
        (epsilon_options(delta="nan"), "delta must be above 0 and below 1"),
        ([*epsilon_options(), "--accountant", "pdl"], "did you mean 'pld'"),
        ([*epsilon_options(), "--cohort-size", 5], "give one of --sampling-rate, --epoch, and --cohort-size"),
        (
            [*epsilon_options(), "--users", 10],
            "--users belongs to --cohort-size, got it with --sampling-rate",
        ),
        ([*epsilon_options(), "--look-noise", 3], "--look-noise belongs to --looks, got it without"),
        (FIXED, "--users is missing"),
        ([*FIXED, "--users", 4], "at most the number of users, 4, got 5"),
        (["--sampling-rate", 0.1, "--steps", 1, "--delta", 0.1], "--noise-multiplier is missing"),
    ],
)
def test_impossible_options_are_refused_in_words(fedward: Any, options: list[object], message: str) -> None:
    answer = fedward("epsilon", *options)
    assert answer.code == 2
    assert message in answer.err
    assert "Traceback" not in answer.err


def test_a_certificate_about_examples_says_that_attackers_only_poison_data(fedward: Any) -> None:
    options = ["--top", 0.9, "--noise-multiplier", 3, "--sampling-rate", 0.1, "--rounds", 3]
    for unit, behaviour in (("user", "anything"), ("example", "data")):
        answer = fedward("certificate", "k", *options, "--unit", unit, "--json")
        assert answer.json()["behaviour"] == behaviour
    assert "poisoned data only" in fedward("certificate", "k", *options, "--unit", "example").out


def test_a_search_that_stopped_does_not_claim_that_nothing_is_there(fedward: Any) -> None:
    options = ["--cost", 0.3, "--cost-bound", 0.5, "--tau", 2, "--noise-multiplier", 300_000]
    answer = fedward("certificate", "attackers", *options, "--sampling-rate", 0.1, "--rounds", 3, "--json")
    found = answer.json()
    assert found["at_least"]
    assert not found["unbounded"]
    assert found["attackers"] == 100_001


def test_run_prints_rounds_accuracy_and_guarantee(fedward: Any, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(EXPERIMENT)
    answer = fedward("run", "small.toml")
    assert answer.code == 0
    for stated in ("accuracy", "ε", "user level", "rdp", "seeded", "runs/small"):
        assert stated in answer.out
    again = fedward("run", "small.toml", "--json")
    result = again.json()
    assert result["rounds"] == 2
    assert math.isfinite(result["epsilon"])
    assert result["directory"] == "runs/small"
    checked = fedward("ledger", "runs/small/ledger.json")
    assert checked.code == 0
    assert "holds" in checked.out


def test_a_ledger_whose_claim_does_not_hold_is_found_out(fedward: Any, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(EXPERIMENT.replace("rounds = 2", "rounds = 1"))
    fedward("run", "small.toml")
    file = tmp_path / "runs" / "small" / "ledger.json"
    content = json.loads(file.read_text())
    claim = content["claims"][0]
    claim["epsilon"] /= 2
    file.write_text(json.dumps(content))
    assert fedward("ledger", file).code in (1, 2)


def test_an_error_in_the_file_is_a_message_and_makes_no_run(fedward: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(EXPERIMENT.replace("rate = 0.5", "rate = 5"))
    answer = fedward("run", "bad.toml")
    assert answer.code == 2
    assert "algorithm.sampler: sampling rate must be above 0 and at most 1, got 5" in answer.err
    assert not (tmp_path / "runs").exists()
    assert fedward("run", "none.toml").code == 2


def test_version_and_help_work(fedward: Any) -> None:
    assert fedward("--version").out.startswith("fedward 0.")
    assert "calibrate" in fedward("--help").out


def start(file: Path, out: Path, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fedward", "run", str(file), "--out", str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)


def test_a_second_process_is_told_that_the_directory_is_in_use(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT.replace("rounds = 2", "rounds = 100_000"))
    first = start(file, tmp_path / "run")
    try:
        while not (tmp_path / "run" / "rounds.jsonl").exists():
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)  # it holds the directory, and leaves the processor to the second
        second = start(file, tmp_path / "run", subprocess.PIPE)
        _, err = second.communicate()
        assert second.returncode == 2
        assert b"in use by another process" in err
    finally:
        first.kill()
        first.communicate()


@pytest.mark.parametrize(
    "command",
    [
        ("epsilon", "--noise-multiplier", 3, "--steps", 3),
        ("calibrate", "--epsilon", 2, "--steps", 3),
    ],
    ids=str,
)
def test_where_no_noise_was_drawn_nothing_is_said_about_its_source(
    command: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = (*command, "--sampling-rate", 0.1, "--delta", 1e-3, "--accountant", "rdp")  # the fastest

    def said(*more: object) -> Answer:
        return answer(*about, *more, monkeypatch=monkeypatch, capsys=capsys)

    plain = said()
    assert plain.code == 0
    assert "noise: research" not in plain.out
    assert "entropy" not in plain.out
    assert "divisor" not in plain.out
    assert said("--json").json()["noise_source"] is None
    assert "seeded noise: research only" in said("--noise-source", "seeded").out
    assert "system entropy" in said("--noise-source", "system").out
    refused = said("--noise-source", "moon")
    assert (refused.code, "noise source must be one of seeded, system, got 'moon'" in refused.err) == (
        2,
        True,
    )
