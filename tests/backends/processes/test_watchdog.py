"""Workers that are stopped or hang, and those that are only slow."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch

from backends.processes.worker_jobs import MODELS, STARTS, TINY, job, same
from fedward.backends import InProcess
from fedward.backends.processes.watchdog import Look, Patience, Watchdog, look_at
from fedward.backends.processes.workers import Workers
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import FlatModule
from processes import alive, until
from support import tiny_sgd

# Worker processes cannot import a test file by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# Nobody but a stopped worker is ended by it, however slow the machine.
QUICK = Patience(stopped=0.2)


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    until(lambda: look_at(pid).state == "stopped")


@dataclass(eq=False)
class Worker:
    pid: int = 0
    position: tuple[int, int] = (1, 0)
    expected: float | None = None
    ends: list[str] = field(default_factory=list)

    def put_down(self, why: str) -> None:
        self.ends.append(why)


def ends(looks: list[Look], worker: Worker | None = None, **patience: float) -> list[str]:
    """Why a worker is ended that is seen like this, second by second."""
    worker, seen = worker or Worker(), iter(looks)
    dog = Watchdog(Patience(**({"stopped": 3, "idle": 5, "busy": 8} | patience)), lambda pid: next(seen))
    dog.close()  # its thread: a test takes its place
    with dog.waiting([worker]):
        for _ in looks:
            dog.look(1.0)
            if worker.ends:
                break
    return worker.ends


def test_a_stopped_worker_is_ended_after_its_time() -> None:
    assert ends([Look("stopped")] * 3) == ["stopped for 3 seconds"]
    assert ends([Look("stopped"), Look("stopped"), Look("asleep", 1), Look("stopped")]) == []


def test_a_worker_that_sleeps_and_computes_nothing_is_ended() -> None:
    assert ends([Look("asleep")] * 5) == ["no sign of life for 5 seconds"]
    assert ends([Look("asleep", tick) for tick in range(50)]) == []


def test_one_that_wants_to_compute_is_not_idle_however_slow_the_machine() -> None:
    assert ends([Look("awake")] * 50) == []


def test_a_job_without_an_end_is_one_only_by_what_jobs_take() -> None:
    endless = [Look("awake", tick) for tick in range(60)]
    assert ends(endless, Worker(expected=0.01)) == ["no end of one job in 8 seconds"]
    assert ends(endless, Worker(expected=1.0), factor=50) == ["no end of one job in 50 seconds"]
    assert ends(endless, Worker(expected=None)) == []  # nobody knows how long one takes
    assert ends([Look("asleep")] * 20, Worker(expected=1.0), factor=50) == []


def test_the_next_job_begins_anew_and_time_counts_only_while_somebody_waits() -> None:
    worker = Worker()
    dog = Watchdog(Patience(stopped=3), lambda pid: Look("stopped"))
    dog.close()
    for number in range(10):
        worker.position = (number, 0)
        with dog.waiting([worker]):
            dog.look(2.0)
        dog.look(1000.0)  # nobody waits: the parent does something else
    assert worker.ends == []


def test_the_system_knows_who_is_stopped() -> None:
    assert look_at(os.getpid()).computed > 0
    assert look_at(2**22 + 1).state == "awake"  # there is no such process


@pytest.mark.parametrize("wrong", ["stopped", "idle", "busy", "factor"])
def test_patience_must_be_positive(wrong: str) -> None:
    with pytest.raises(InvalidValue, match=f"patience {wrong} must be positive"):
        Patience(**{wrong: 0.0})


def test_a_stopped_worker_is_named_and_replaced_and_the_rows_are_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    jobs = [job(STARTS["tiny"], user % 12, tiny_sgd(), seed=user, round=4) for user in range(24)]
    rows = []
    with Workers(MODELS["tiny"], TINY, workers=1, chunk=2, patience=QUICK) as backend:
        for row in backend.train(jobs):
            rows.append(row)
            if len(rows) == 6:
                (stopped,) = backend.pids
                stop(stopped)
        assert stopped not in backend.pids
    assert not alive(stopped)
    assert same(rows, list(InProcess(MODELS["tiny"], TINY).train(jobs)))
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert f"worker process {stopped}, stopped for 0." in line
    assert "\n" not in line


class Stopper:
    """Stops the process that it runs in."""

    def at_round(self, round: int, bounds: Any) -> Stopper:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


def test_a_job_that_stops_its_worker_every_time_ends_with_the_user(caplog: pytest.LogCaptureFixture) -> None:
    jobs = [job(STARTS["tiny"], 1, tiny_sgd()), job(STARTS["tiny"], 9, Stopper(), round=4)]
    with Workers(MODELS["tiny"], TINY, workers=1, chunk=2, patience=QUICK) as backend:
        rows = backend.train(jobs)
        assert next(rows).user == 1
        with pytest.raises(
            TrainingFailed, match=r"user 9: .* died 3 times at this job \(stopped for"
        ) as caught:
            next(rows)
    assert str(caught.value.at(4)).startswith("round 5, user 9: ")
    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 3
    assert all("at user 9 in round 5, was ended" in line for line in told)


def test_a_message_that_a_stopped_worker_does_not_take_in_does_not_block_for_ever() -> None:
    """Sockets hold some hundred kilobytes; the jobs bring a model of 8 megabytes each."""
    module = torch.nn.Linear(3, 500_000)
    models = [torch.zeros(2_000_000) + number for number in range(3)]
    with Workers(module, TINY, workers=1, chunk=1, patience=QUICK) as backend:
        jobs = [job(model, 1, tiny_sgd(learning_rate=1e-3)) for model in models]
        rows = [next(iter(backend.train(jobs[:1])))]
        os.kill(backend.pids[0], signal.SIGSTOP)
        rows += backend.train(jobs[1:])
    assert same(rows, list(InProcess(module, TINY).train(jobs)))


def test_no_thread_is_left() -> None:
    def dogs() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "fedward-watchdog"]

    before = dogs()
    with Workers(MODELS["tiny"], TINY, workers=1) as backend:
        list(backend.train([job(STARTS["tiny"], 1, tiny_sgd())]))
        assert len(dogs()) == len(before) + 1
    until(lambda: len(dogs()) <= len(before))
