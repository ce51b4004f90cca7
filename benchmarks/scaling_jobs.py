"""One measurement of scaling.py, in a process of its own so that its memory can be seen apart.

    python benchmarks/scaling_jobs.py users 1000 --rounds 100

Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import fedward
from fedward.backends.threaded import Threads
from fedward.datasets import synthetic
from fedward.lockstep.lockstep import Lockstep, Training

COHORT = 1000
CLIP, NOISE = 1.0, 1.0
SEED = 1


def users(given: argparse.Namespace) -> dict[str, Any]:
    """Rounds of logistic regression with the same expected cohort of users, however many there are."""
    federation = synthetic.load(seed=SEED, users=given.size, examples=10)
    sampler = fedward.PoissonSampler(rate=min(1.0, COHORT / given.size))
    algorithm = private(federation, sampler, epochs=1, batch=10)
    model = fedward.models.build("logistic_regression", input_shape=(60,), num_classes=10, seed=SEED)
    backend = fedward.InProcess(model, federation)
    walls, processor, sizes = [], [], []
    start, begun = time.perf_counter(), time.process_time()
    trained = fedward.rounds(algorithm, model, federation, rounds=given.rounds, seed=SEED, backend=backend)
    for state, log in trained:
        walls.append(time.perf_counter() - start)
        processor.append(time.process_time() - begun)
        sizes.append(len(log.telemetry.cohort))
        start, begun = time.perf_counter(), time.process_time()
    return {
        "data_bytes": size_of(federation),
        "cohort": statistics.mean(sizes),
        "round": statistics.median(walls),
        "round_processor": statistics.median(processor),
        "draw": statistics.median(draws(sampler, given.size)),
        "accuracy": backend.evaluate(state.parameters, federation.test).accuracy,
    }


def replicas(given: argparse.Namespace) -> dict[str, Any]:
    """Replicas of a training like that on MNIST 0/1 go through their rounds together, in blocks."""
    flat = synthetic.load(seed=SEED, users=200, examples=63, features=784, classes=2)
    federation = replace(flat, examples=as_images(flat.examples), test=as_images(flat.test))
    sampler = fedward.PoissonSampler(rate=0.2)
    algorithms = [
        private(federation, sampler, epochs=1, batch=60, noise=NOISE * (1 + level))
        for level in range(given.levels)
    ]
    model = fedward.models.build("mnist_cnn", input_shape=(1, 28, 28), num_classes=2, seed=SEED)
    training, evaluation, sums = 0.0, 0.0, 0.0
    with fedward.backends.Workers(model, federation, workers=given.workers) as backend:
        together = Lockstep(model, federation, backend, seed=SEED)
        for first in range(0, given.size, given.block):
            block = [
                Training(algorithm=algorithm, rounds=given.rounds, replica=replica)
                for replica in range(first, min(first + given.block, given.size))
                for algorithm in algorithms
            ]
            start = time.perf_counter()
            states = together.start(block)
            for _ in range(given.rounds):
                states = [state for state, _ in together.round(block, states)]
            done = time.perf_counter()
            for found in backend.confidences((state.parameters for state in states), federation.test):
                sums += float(found[:, 0].mean())
            training += done - start
            evaluation += time.perf_counter() - done
    trainings = given.size * given.levels
    return {
        "asked": together.asked,
        "run": together.run,
        "training": training,
        "evaluation": evaluation,
        "confidence": sums / trainings,
    }


def parameters(given: argparse.Namespace) -> dict[str, Any]:
    """Rounds of a network with one hidden layer that has this many parameters, by fedward or a plain loop."""
    federation = synthetic.load(seed=SEED, users=100, examples=20)
    width = max(1, round(given.size / 71))
    torch.manual_seed(SEED)
    model = nn.Sequential(nn.Linear(60, width), nn.ReLU(), nn.Linear(width, 10))
    rounds = plain_rounds if given.engine.startswith("plain") else fedward_rounds
    times = [(time.perf_counter(), processor())]
    times.extend((time.perf_counter(), processor()) for _ in rounds(model, federation, given))
    taken, busy = np.diff(times, axis=0)[min(1, given.rounds - 1) :].T.tolist()
    count = sum(parameter.numel() for parameter in model.parameters())
    return {
        "parameters": count,
        "round": statistics.median(taken),
        "round_processor": statistics.median(busy),
        # Linux counts in kilobytes.
        "resident_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def processor() -> float:
    """Processor seconds of this process and those below it, which of living ones only Linux tells."""
    own = os.getpid()
    ticks = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if own in (int(folder.name), int(fields[1])):
                    ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def fedward_rounds(
    model: nn.Module, federation: fedward.Federation, given: argparse.Namespace
) -> Iterator[None]:
    algorithm = private(federation, fedward.FixedSizeSampler(size=10), epochs=2, batch=10)
    backends: dict[str, Callable[[], Any]] = {
        "in-process": lambda: fedward.InProcess(model, federation),
        "threads": lambda: Threads(model, federation, threads=given.workers),
        "workers": lambda: fedward.Workers(model, federation, workers=given.workers, engine="generic"),
    }
    with contextlib.closing(backends[given.engine]()) as backend:
        for _ in fedward.rounds(
            algorithm, model, federation, rounds=given.rounds, seed=SEED, backend=backend
        ):
            yield


def plain_rounds(
    model: nn.Module, federation: fedward.Federation, given: argparse.Namespace
) -> Iterator[None]:
    torch.set_num_threads(1 if given.engine == "plain-alone" else given.threads)
    weights = parameters_to_vector(model.parameters()).detach()
    for _ in range(given.rounds):
        total = torch.zeros_like(weights)
        for user in torch.randperm(federation.num_users)[:10].tolist():
            vector_to_parameters(weights.clone(), model.parameters())
            own = federation.user(user)
            steps = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                for index in torch.randperm(len(own)).split(10):
                    steps.zero_grad()
                    x, y = own.batch(index)
                    cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
                    steps.step()
            update = parameters_to_vector(model.parameters()).detach() - weights
            total += update * min(1.0, CLIP / float(update.norm()))
        weights = weights + (total + NOISE * CLIP * torch.randn_like(total)) / 10
        yield


def private(
    federation: fedward.Federation, sampler: Any, *, epochs: int, batch: int, noise: float = NOISE
) -> fedward.Algorithm:
    return fedward.presets.user_dp_fedavg(
        num_users=federation.num_users,
        sampler=sampler,
        local=fedward.SGD(learning_rate=0.1, batch_size=batch, epochs=epochs),
        clip_bound=CLIP,
        noise_multiplier=noise,
    )


def as_images(examples: fedward.Examples) -> fedward.Examples:
    return fedward.Examples(examples.x.view(-1, 1, 28, 28), examples.y)


def size_of(federation: fedward.Federation) -> int:
    """Bytes of all that grows with the users."""
    tensors = (federation.examples.x, federation.examples.y, federation.offsets)
    return int(sum(tensor.nbytes for tensor in tensors) + federation.names.nbytes)


def draws(sampler: Any, users: int) -> Iterator[float]:
    """How long drawing a cohort takes, and nothing else."""
    rng = np.random.default_rng(SEED)
    for _ in range(50):
        start = time.process_time()
        sampler.draw(users, rng)
        yield time.process_time() - start


WHAT = {"users": users, "replicas": replicas, "parameters": parameters}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("size", type=int, help="how many users, replicas or parameters")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument(
        "--engine", choices=("plain", "plain-alone", "in-process", "threads", "workers"), default="in-process"
    )
    parser.add_argument("--levels", type=int, default=1, help="noise levels of the replicas")
    parser.add_argument("--block", type=int, default=50, help="replicas that go together")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2, help="of the plain loop")
    given = parser.parse_args()
    print(json.dumps(WHAT[given.what](given)))


if __name__ == "__main__":
    main()
