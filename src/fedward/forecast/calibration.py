"""A short measurement, on this machine, of how long each kind of step of an experiment takes."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
import torch

from fedward.backends import InProcess
from fedward.backends.compute import Compute
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.failure import TrainingFailed
from fedward.core.poison import poison_data
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.train import reserve
from fedward.core.types import Job, Plan, Row, ServerState
from fedward.studies.training.setup import Setup

# Not more than a person waits for.
_LONG = 3.0
_MOST_JOBS = 200
_SHORT = {"epochs": 20, "steps": 200}
_TEST_EXAMPLES = 500
# Rows that a rule would hold all at once; more of them are not made up for a measurement.
_MOST_NUMBERS = 10**8


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Seconds for each kind of step, on one core.

    Args:
      job: one local training, the mean over users.
      job_error: the standard error of that mean.
      jobs: how many were measured.
      finish: what the server does with the updates of one round.
      evaluation: measuring the model once.
    """

    job: float
    job_error: float
    jobs: int
    finish: float
    evaluation: float


def calibrate(setup: Setup, compute: Compute, *, seconds: float = 1.0) -> Calibration | None:
    """Trains some users of the first round for about so long; None where nothing can be measured.

    Nothing is kept of what was trained.
    """
    backend = InProcess(setup.model, setup.federation, device=compute.device, engine=compute.choice)
    try:
        state = setup.algorithm.init(setup.parameters, num_users=setup.federation.num_users)
        adversary = setup.attack.adversary if setup.attack else None
        seed = setup.experiment.seed
        algorithm, times_as_long = _shortened(setup.algorithm)
        plan = plan_round(algorithm, state, setup.federation.roster, adversary, seed)
        plan = poison_data(plan, setup.federation, seed)
        if not plan.jobs:
            return None
        times, rows = _jobs(backend, plan, seconds)
        return Calibration(
            job=times_as_long * float(np.mean(times)),
            job_error=times_as_long * _standard_error(times),
            jobs=len(times),
            finish=_finish(setup, state, plan, rows, seed),
            evaluation=_evaluation(setup, backend, state),
        )
    except (InvalidValue, TrainingFailed, RuntimeError, MemoryError):
        return None  # what does not train is said by the training, not by a guess of how long it takes
    finally:
        backend.close()


def _shortened(algorithm: Algorithm) -> tuple[Algorithm, float]:
    """The algorithm with local trainings as short as a measurement; how many times as long they really are.

    A trainer of somebody's own is shortened too if it has such fields, and is not if it minds.
    """
    local: Any = algorithm.local
    for key, most in _SHORT.items():
        count = getattr(local, key, None)
        if isinstance(count, int) and count > most and is_dataclass(type(local)):
            return replace(algorithm, local=replace(local, **{key: most})), count / most
    return algorithm, 1.0


def _standard_error(times: list[float]) -> float:
    return float(np.std(times, ddof=1)) / math.sqrt(len(times)) if len(times) > 1 else 0.0


def _jobs(backend: InProcess, plan: Plan, seconds: float) -> tuple[list[float], list[Row]]:
    """What local trainings take, in an order that has nothing to do with the size of their data."""
    order = np.random.default_rng(0).permutation(len(plan.jobs))
    jobs: Sequence[Job] = [plan.jobs[number] for number in order]
    # The first one also loads and compiles what the others find ready.
    warm, row = _time_job(backend, jobs[0])
    if warm >= _LONG * seconds:
        return [warm], [row]
    times: list[float] = []
    rows: list[Row] = []
    for job in itertools.islice(itertools.cycle(jobs), _MOST_JOBS):
        taken, row = _time_job(backend, job)
        times.append(taken)
        if len(rows) < len(jobs):
            rows.append(row)
        if sum(times) >= seconds:
            break
    return times, rows


def _time_job(backend: InProcess, job: Job) -> tuple[float, Row]:
    begin = time.perf_counter()
    (row,) = backend.train([job])
    return time.perf_counter() - begin, row


def _finish(setup: Setup, state: ServerState, plan: Plan, rows: list[Row], seed: int) -> float:
    """Clipping, aggregation, noise and step of a whole round; the few updates stand for all of them."""
    if len(plan.jobs) * state.parameters.numel() > _MOST_NUMBERS:
        return 0.0
    everybody = [
        Row(job.user, rows[number % len(rows)].update, rows[number % len(rows)].norm)
        for number, job in enumerate(plan.jobs)
    ]
    begin = time.perf_counter()
    reserved = reserve(setup.algorithm, state, plan)
    received = receive(setup.algorithm, reserved, plan, everybody, seed)
    finish_round(setup.algorithm, reserved, plan, received, seed)
    return time.perf_counter() - begin


def _evaluation(setup: Setup, backend: InProcess, state: ServerState) -> float:
    test = setup.federation.test
    total = 0.0
    for examples in setup.measured_on or (() if test is None else (test,)):
        if not len(examples):
            continue
        few = examples.select(torch.arange(min(len(examples), _TEST_EXAMPLES)))
        begin = time.perf_counter()
        backend.evaluate(state.parameters, few)
        total += (time.perf_counter() - begin) * len(examples) / len(few)
    return total
