"""Every command that writes, on a real disk that is full, read-only, or allows no large files."""

from __future__ import annotations

import resource
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fedward.cli import main
from tiny_experiment import PLAIN

DIFFERENCES = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "run_on_disk.py"))["differences"]

EXPERIMENT = """
seed = 1
rounds = 2
data = { name = "synthetic", users = 40, examples = 4, alpha = 1.0, test_examples = 20 }
model = { name = "logistic_regression" }
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 3.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.5, batch_size = 8, epochs = 1 }
[privacy]
users = 40
delta = 1e-2
accountant = "moments"
"""
TEN_ROUNDS = PLAIN.replace("rounds = 2", "rounds = 10")
PRETRAINING = """
seed = 1
epochs = 1
data = { name = "synthetic", users = 12, examples = 8, alpha = 1.0, test_examples = 40 }
model = { name = "logistic_regression" }
training = { learning_rate = 0.1, batch_size = 20 }
"""
MEMBERS = ("infer", "membership", "first.toml", "--unit", "user", "--shadows", "4")
PROPERTY = ("infer", "property", "plain.toml", "--property", "label:1", "--users", "3")
COMMANDS = {
    "run": ("run", "first.toml", "--out", "{disk}/run"),
    "sweep": ("sweep", "sweep.toml", "--out", "{disk}/sweep"),
    "replicas": ("replicas", "first.toml", "-m", "4", "--block", "2", "--out", "{disk}/replicas"),
    "certify": ("certify", "first.toml", "-m", "4", "--score", "vote", "--out", "{disk}/certified"),
    "membership": (*MEMBERS, "--out", "{disk}/membership"),
    "property": (*PROPERTY, "--features", "20", "--out", "{disk}/property"),
    "pretrain": ("pretrain", "pretraining.toml", "--out", "{disk}/weights/start.pt"),
    "report": ("report", "runs/first", "--out", "{disk}/pages/report.html"),
    "new": ("new", "{disk}/new.toml"),
    "export to CSV": ("runs", "export", "{disk}/runs.csv"),
    "export to JSON lines": ("runs", "export", "{disk}/runs.jsonl", "--rounds"),
    "export to TensorBoard": ("runs", "export", "{disk}/board"),
}


class Answer:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Fedward = Callable[..., Answer]


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Fedward:
    """Runs the command in this process, in a directory with some files and a finished run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.toml").write_text(EXPERIMENT)
    (tmp_path / "plain.toml").write_text(TEN_ROUNDS)
    (tmp_path / "pretraining.toml").write_text(PRETRAINING)
    (tmp_path / "sweep.toml").write_text(EXPERIMENT + "[sweep]\nseeds = [1, 2]\n")

    def command(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["fedward", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(int(end.value.code or 0), captured.out, captured.err)

    assert command("run", "first.toml").code == 0
    return command


class Disk:
    """A file system in memory, of a size that can be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")

    def change(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.path)], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if sys.platform != "linux" or shutil.which("mount") is None:
        pytest.skip("file systems are mounted on Linux only")
    made = Disk(tmp_path / "disk")
    made.path.mkdir()
    made.mount("size=4k")
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", str(made.path)], check=True)


def one_line(answer: Answer) -> str:
    assert answer.code == 2, answer.out + answer.err
    (line,) = answer.err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_line_and_the_same_command_goes_on_when_there_is_space(
    name: str, fedward: Fedward, disk: Disk, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    assert fedward(*(part.format(disk=whole) for part in COMMANDS[name])).code == 0
    command = [part.format(disk=disk.path) for part in COMMANDS[name]]
    (disk.path / "filler").write_bytes(bytes(4096))
    pages, failures = 1, 0
    while (answer := fedward(*command)).code != 0:
        line = one_line(answer)
        assert str(disk.path) in line
        assert "cannot be written: No space left on device; free some space" in line
        failures += 1
        pages = pages + 1 if pages < 6 else pages * 2
        disk.change(f"size={4 * pages}k")
    assert failures > 0
    (disk.path / "filler").unlink()
    if name == "new":  # its own name is in it
        text = (disk.path / "new.toml").read_text()
        (disk.path / "new.toml").write_text(text.replace(str(disk.path), str(whole)))
    found = DIFFERENCES(whole, disk.path)
    assert [each for each in found if "tfevents" not in each] == []  # they say when they were written


@pytest.mark.parametrize("name", COMMANDS)
def test_a_read_only_disk_is_one_line(name: str, fedward: Fedward, disk: Disk) -> None:
    disk.change("ro")
    line = one_line(fedward(*(part.format(disk=disk.path) for part in COMMANDS[name])))
    assert str(disk.path) in line
    assert "cannot be written: Read-only file system; choose another place" in line
    assert list(disk.path.iterdir()) == []


def test_what_lies_on_a_read_only_disk_can_be_read(fedward: Fedward, disk: Disk, tmp_path: Path) -> None:
    disk.change("size=1m")
    shutil.copytree("runs/first", disk.path / "first")
    disk.change("ro")
    answer = fedward("runs", "--in", disk.path)
    assert answer.code == 0
    assert "first" in answer.out
    assert fedward("report", disk.path / "first").code == 0
    assert fedward("ledger", disk.path / "first" / "ledger.json").code == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("pages", [0, 1, 2, 4])
def test_runs_are_listed_where_there_is_no_space_for_their_index(
    pages: int, fedward: Fedward, disk: Disk
) -> None:
    disk.change("size=1m")
    shutil.copytree("runs/first", disk.path / "first")
    used = sum(-(-file.stat().st_size // 4096) for file in (disk.path / "first").iterdir())
    disk.change(f"size={4 * (used + pages)}k")
    for _ in range(2):
        answer = fedward("runs", "--in", disk.path, "--where", "accuracy>=0")
        assert answer.code == 0
        assert "first" in answer.out
    disk.change("size=1m")
    assert "first" in fedward("runs", "--in", disk.path).out
    assert [each.name for each in disk.path.iterdir()] == ["first"]  # the index lies elsewhere


@pytest.fixture
def no_large_files() -> Iterator[Callable[[int], None]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN  # as Python has it
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("name", "size"), [("run", 900), ("certify", 4000), ("report", 9000), ("pretrain", 900), ("new", 300)]
)
def test_a_limit_on_the_size_of_files_is_one_line(
    name: str, size: int, fedward: Fedward, tmp_path: Path, no_large_files: Any
) -> None:
    command = [part.format(disk=tmp_path / "out") for part in COMMANDS[name]]
    (tmp_path / "out").mkdir()
    no_large_files(size)
    try:
        answer = fedward(*command)
    finally:
        no_large_files(resource.RLIM_INFINITY)
    line = one_line(answer)
    assert "cannot be written: File too large; raise the limit on the size of files" in line
    assert fedward(*command).code == 0
