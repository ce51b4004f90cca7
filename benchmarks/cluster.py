"""Replicas on two nodes of a Ray cluster beside two threads of one process, and what a cluster costs.

    python benchmarks/cluster.py --data DIR
    python benchmarks/cluster.py costs

The first trains the same replicas of the MNIST CNN in turn here and on two nodes with one core each, compares
their certificates byte for byte, and says how many local trainings ran. The second measures what a task, a
block and a round cost. Ray is needed; the nodes are started here and end with this process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fedward
from fedward.backends.compute import Compute
from fedward.backends.ray import connection
from fedward.backends.ray.cluster_jobs import ClusterJobs
from fedward.backends.ray.shipped import ship
from fedward.base.arrays_file import Arrays, arrays_bytes
from fedward.core.types import Job
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.rundir.replica_store import Block, ReplicaDirectory
from fedward.rundir.store import open_run

EXPERIMENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 3,
    "data": {"name": "mnist", "classes": [0, 1], "users": 200},
    "model": {"name": "mnist_cnn"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 0.7,
        "noise_multiplier": 1.0,
        "sampler": {"name": "poisson", "rate": 0.1},
        "local": {
            "name": "sgd",
            "learning_rate": 0.02,
            "momentum": 0.9,
            "weight_decay": 5e-4,
            "batch_size": 60,
            "epochs": 5,
        },
    },
    "privacy": {"users": 200},
}
CLUSTER = "local:2"


def certify(out: Path, data: str, replicas: int, compute: Compute) -> tuple[float, int]:
    """Seconds, and how many local trainings ran."""
    began = time.perf_counter()
    fedward.certify(EXPERIMENT, replicas=replicas, out=out, data=data, compute=compute, quiet=True)
    seconds = time.perf_counter() - began
    return seconds, json.loads((out / "result.json").read_text())["jobs_run"]


def compare(data: str, replicas: int, turns: int) -> None:
    here, there = Compute(workers=2), Compute(cluster=CLUSTER)
    with tempfile.TemporaryDirectory() as folder, connection.joined(there):
        certify(Path(folder) / "warm", data, 8, there)
        seconds: dict[str, list[float]] = {"threads": [], "cluster": []}
        for turn in range(turns):
            for name, compute in (("threads", here), ("cluster", there)):
                out = Path(folder) / f"{name}-{turn}"
                taken, run = certify(out, data, replicas, compute)
                seconds[name].append(taken)
                print(f"{name:8s} {taken:6.1f} s, {run:,} local trainings run", flush=True)
        for file in ("certificate.json", "certificate-scores.npz", "certified.json"):
            same = (Path(folder) / "threads-0" / file).read_bytes() == (
                Path(folder) / "cluster-0" / file
            ).read_bytes()
            print(f"{file}: {'the same bytes' if same else 'OTHER BYTES'}")
            if not same:
                sys.exit(1)
    ratio = statistics.median(seconds["threads"]) / statistics.median(seconds["cluster"])
    print(f"throughput of the cluster: {ratio:.3f} of that of two threads ({replicas} replicas)")


def costs() -> None:
    import ray

    for users in (10_000, 100_000, 1_000_000):
        planning_cost(users)
    storing_cost()
    began = time.perf_counter()
    with connection.joined(Compute(cluster=CLUSTER)):
        print(f"two nodes started, asked and joined: {time.perf_counter() - began:.1f} s")
        nothing = ray.remote(num_cpus=1)(lambda: None)
        ray.get([nothing.remote() for _ in range(4)])
        times = []
        for _ in range(200):
            began = time.perf_counter()
            ray.get(nothing.remote())
            times.append(time.perf_counter() - began)
        print(f"a task, there and back: {statistics.median(times) * 1e3:.2f} ms")
        began = time.perf_counter()
        ray.get([nothing.remote() for _ in range(2000)])
        print(f"tasks, many at once: {2000 / (time.perf_counter() - began):.0f} a second")
        for megabytes in (1, 16, 128):
            array = np.zeros(megabytes * 2**20, dtype=np.uint8)
            began = time.perf_counter()
            reference = ray.put(array)
            taken = time.perf_counter() - began
            print(f"{megabytes} MB into the object store: {megabytes / taken:.0f} MB/s")
            del reference
        for users, width in ((100, 64), (1000, 64), (10_000, 64), (1000, 512), (1000, 2048)):
            round_cost(users, width)


def planning_cost(users: int, drawn: int = 1000, replicas: int = 20) -> None:
    """What the driver does for each replica before the first block: its first cohort, names for its jobs."""
    x = np.zeros((users, 4), dtype=np.float32)
    federation = fedward.Federation.from_arrays(x, np.arange(users) % 2, np.arange(users))
    model = torch.nn.Linear(4, 2)
    algorithm = fedward.presets.user_dp_fedavg(
        num_users=users,
        sampler=fedward.PoissonSampler(rate=drawn / users),
        local=fedward.SGD(learning_rate=0.1, batch_size=1, epochs=1),
        clip_bound=1.0,
        noise_multiplier=1.0,
    )
    together = Lockstep(model, federation, fedward.InProcess(model, federation), seed=1)
    seconds = []
    for replica in range(replicas):
        began = time.perf_counter()
        list(together.first_jobs([Training(algorithm=algorithm, rounds=3, replica=replica)]))
        seconds.append(time.perf_counter() - began)
    print(
        f"planning the first round of a replica, {drawn:,} of {users:,} users drawn: "
        f"{statistics.median(seconds) * 1e3:.1f} ms"
    )


def storing_cost(replicas: int = 20, examples: int = 2115, classes: int = 2) -> None:
    """What a block is that comes back, and how long it takes until it is on disk."""
    seconds: list[float] = []
    content: Arrays = {
        "all/scores": np.zeros((replicas, examples, classes), dtype=np.float32),
        "all/accuracy": np.zeros(replicas),
    }
    size = len(arrays_bytes(content))
    with tempfile.TemporaryDirectory() as folder, open_run(Path(folder) / "run") as place:
        directory = ReplicaDirectory(place, save_space=False)
        for number in range(30):
            block = Block(start=number * replicas, stop=(number + 1) * replicas, variants=("all",), states=())
            began = time.perf_counter()
            directory.finish_block(block, dict(content), "")
            seconds.append(time.perf_counter() - began)
    print(
        f"a block of {replicas} replicas, {examples:,} test examples, {classes} classes: "
        f"{size / 1e3:.0f} kB, stored durably in {statistics.median(seconds) * 1e3:.1f} ms"
    )


def round_cost(users: int, width: int) -> None:
    """A round in which local training is nothing: what is left is the driver's."""
    x = np.zeros((users, 4), dtype=np.float32)
    federation = fedward.Federation.from_arrays(x, np.arange(users) % 2, np.arange(users))
    model = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))
    parameters = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    trainer = fedward.SGD(learning_rate=0.1, batch_size=1, epochs=1)
    jobs = [
        Job(parameters=parameters, user=user, num_examples=1, trainer=trainer, seed=user)
        for user in range(users)
    ]
    with closing(ClusterJobs(model, federation, Compute(cluster=CLUSTER))) as backend:
        sum(1 for _ in backend.train(jobs))
        began = time.perf_counter()
        sum(1 for _ in backend.train(jobs))
        taken = time.perf_counter() - began
    size = len(ship(jobs[0].parameters).tensors[0])
    print(
        f"a round of {users:,} users with {parameters.numel():,} parameters ({size / 1e3:.0f} kB): "
        f"{taken:.2f} s, {taken / users * 1e3:.2f} ms a user"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", default="compare", choices=["compare", "costs"])
    parser.add_argument("--data", help="the directory with MNIST/raw")
    parser.add_argument("--replicas", type=int, default=200)
    parser.add_argument("--turns", type=int, default=2)
    told = parser.parse_args()
    if told.what == "costs":
        costs()
    else:
        compare(told.data, told.replicas, told.turns)


if __name__ == "__main__":
    main()
