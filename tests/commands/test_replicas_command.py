from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from command_line import exit_code as fedward
from fedward.studies.replicas.replica_results import load_replicas
from tiny_experiment import TWENTY

EXPERIMENT = TWENTY.replace("users = 20", "users = 10") + "delta = 1e-3\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT)
    return path


def test_variants_are_trained_together_and_told_apart(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    vary = ("--vary", "algorithm.noise_multiplier=1,20")
    assert fedward("replicas", file, "-m", 3, *vary, "--out", out, "--json", monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr()
    assert "variants share their noise: release the models of one at most" in printed.err
    result = json.loads(printed.out)
    assert result["replicas"] == 3
    assert result["jobs_run"] < result["jobs_asked_for"]
    quiet, loud = (result["variants"][f"noise_multiplier={z}"]["accuracy"]["mean"] for z in (1, 20))
    assert quiet > loud
    one, more = (result["guarantees"]["noise_multiplier=20"][of] for of in ("one_replica", "all_replicas"))
    assert one["statement"].startswith("(ε = ")
    assert (one["guarantee"]["rounds"], more["guarantee"]["rounds"]) == (2, 6)
    assert 0 < one["guarantee"]["epsilon"] < more["guarantee"]["epsilon"]
    assert more["statement"].endswith("; all 3 replicas together")
    assert load_replicas(out, "noise_multiplier=20").scores.shape == (3, 359, 10)


def test_the_table_names_variants_intervals_and_jobs(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    assert fedward("replicas", file, "--replicas", 2, "--out", out, monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr().out
    assert "2 replicas" in printed
    assert "user trainings run for" in printed
    assert "one replica of all: (ε = " in printed
    assert "all replicas together spend more" in printed
    assert "share their noise" not in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-m", "0"), "replicas must be"),
        (("-m", "2", "--vary", "seed=1,2"), "seed cannot vary"),
        (("-m", "2", "--vary", "algorithm.nosie_multiplier=1,2"), "did you mean 'noise_multiplier'"),
        (("-m", "2", "--workers", "-1"), "workers must be"),
        (("-m", "2", "--device", "cuda", "--workers", "1"), "workers train on the CPU"),
        (("-m", "2", "--device", "abacus"), "device"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    out = file.parent / "run"
    assert fedward("replicas", file, *options, "--out", out, monkeypatch=monkeypatch) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


@pytest.mark.parametrize("options", [("--workers", "-1"), ("--device", "abacus")])
def test_a_single_run_is_refused_before_anything_is_written_too(
    file: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    out = file.parent / "run"
    assert fedward("run", file, *options, "--out", out, monkeypatch=monkeypatch) == 2
    assert not out.exists()


def test_replicas_that_nobody_asked_for_are_mentioned(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("replicas", file, "--workers", 0, "--out", file.parent / "run")
    for count, said in ((3, False), (2, True), (3, False)):
        assert fedward(*command, "-m", count, monkeypatch=monkeypatch) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert ("asked for 2 replicas, but 3 are finished" in printed) is said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_nothing_behind_and_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    number: signal.Signals,
) -> None:
    """With real workers, in mid-training; twice, then to the end."""
    file, out = tmp_path / "experiment.toml", tmp_path / "run"
    file.write_text(EXPERIMENT.replace("rounds = 2", "rounds = 40"))
    command = ["replicas", str(file), "-m", "6", "--block", "2", "--workers", "2", "--out", str(out)]
    # Tests that run in the background inherit that SIGINT is ignored; what has a handler is not inherited.
    before_tests = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before_tests))
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-m", "fedward", *command],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        before = _progress(out)
        while process.poll() is None and _progress(out) == before:
            time.sleep(0.01)
        os.killpg(process.pid, number)  # as a terminal does
        _, errors = process.communicate(timeout=120)
        assert process.returncode in (128 + number, 0)
        if process.returncode:
            assert f"stopped by {number.name}; the same command goes on where it was left" in errors
        assert _gone(process.pid)
        names = {path.name for path in out.iterdir()}
        assert not [name for name in names if name.startswith(".") and name != ".lock"]
    assert fedward(*command[:-4], "--workers", 0, "--out", out, monkeypatch=monkeypatch) == 0
    whole = tmp_path / "whole"
    assert fedward(*command[:-4], "--workers", 0, "--out", whole, monkeypatch=monkeypatch) == 0
    assert np.array_equal(load_replicas(out).scores, load_replicas(whole).scores)


def _progress(out: Path) -> object:
    """Changes when another round of a block is on disk."""
    files = [*sorted(out.glob("scores-*")), out / "block.pt"] if out.exists() else []
    return [(file.name, file.stat().st_mtime_ns) for file in files if file.exists()]


def _gone(group: int) -> bool:
    """Whether every process of a group ends; workers end by themselves when nobody is left to talk to."""
    for _ in range(6000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False
