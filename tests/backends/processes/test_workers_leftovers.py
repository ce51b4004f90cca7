"""A script with worker processes, and what is left of it when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from processes import alive, until

SHARED_MEMORY = Path("/dev/shm")
SCRIPT = """
import signal, sys, time, torch
from fedward import SGD, Federation
from fedward.backends.processes.workers import Workers
from fedward.core.types import Job

class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.inner(x)

class Slow:
    def at_round(self, round, bounds):
        return self

    def train(self, model, examples, rng):
        time.sleep(SECONDS)

# Tests that run in the background inherit that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
SECONDS = float(sys.argv[2])
torch.manual_seed(0)
federation = Federation.from_arrays(torch.randn(12, 3), [0, 1] * 6, list(range(12)))
backend = Workers(Mine(), federation, workers=int(sys.argv[1]), chunk=1)
quick = SGD(learning_rate=0.1, batch_size=2, epochs=1)
jobs = [
    Job(parameters=torch.zeros(8), user=user, num_examples=1, trainer=trainer, seed=1)
    for trainer in (quick, Slow())
    for user in range(int(sys.argv[1]))
]
for row in backend.train(jobs):
    print(*backend.pids, flush=True)
print("done", flush=True)
"""


def script(tmp_path: Path, workers: int, seconds: float) -> subprocess.Popen[str]:
    file = tmp_path / "without_a_main_guard.py"
    file.write_text(SCRIPT)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, str(file), str(workers), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": path},
    )


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGKILL, 1), (signal.SIGINT, 2)])
def test_nothing_is_left_when_the_parent_is_ended_in_mid_training(
    number: signal.Signals, workers: int, tmp_path: Path
) -> None:
    before = set(SHARED_MEMORY.iterdir()) if SHARED_MEMORY.is_dir() else set()
    with script(tmp_path, workers, 3600) as parent:
        assert parent.stdout is not None
        for _ in range(workers):
            pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == workers
        assert all(map(alive, pids))
        if number == signal.SIGINT:
            os.killpg(parent.pid, number)  # as Ctrl-C does: the whole group gets it
        else:
            parent.send_signal(number)
        try:
            parent.communicate(timeout=120)
        finally:
            parent.kill()  # leaving the block would wait for it for ever
        assert parent.returncode != 0
        until(lambda: not any(map(alive, pids)))
    if SHARED_MEMORY.is_dir():
        assert not {path for path in SHARED_MEMORY.iterdir() if "fedward" in path.name} - before


def test_a_script_without_a_main_guard_and_with_its_own_model_runs_and_leaves_nothing(tmp_path: Path) -> None:
    with script(tmp_path, 1, 0.0) as parent:
        out, error = parent.communicate(timeout=600)
        assert parent.returncode == 0, error
        assert error == ""
        assert out.splitlines()[-1] == "done"
        assert not any(alive(int(pid)) for pid in out.splitlines()[0].split())
