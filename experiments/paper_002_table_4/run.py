"""Table 4 of paper 002: clean accuracy of InsDP-FedAvg on MNIST 0/1 against the noise.

    python experiments/paper_002_table_4/run.py --data DIR [--runs 1=100 --runs 10=100 --runs 15=100]

10 users, all in every round, 3 rounds of 26 steps of DP-SGD with batches p = 50/1266 (the paper says 25
steps; its ε are those of 26). Every run has its own initial model, batches and noise; the split of the data
is the same. Finished runs are kept in results.jsonl beside this file, so it can be killed and started again,
or asked for more runs. Two processes with one thread each.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

import fedward
from fedward.local import DPSGD

HERE = Path(__file__).parent
RESULTS = HERE / "results.jsonl"
PAPER = {1.0: 99.73, 2.0: 99.73, 3.0: 99.70, 4.0: 99.65, 5.0: 99.57, 8.0: 97.99, 10.0: 93.30, 15.0: 77.12}
USERS, ROUNDS = 10, 3

_federation: fedward.Federation


def prepare(data: str | None) -> None:
    global _federation
    torch.set_num_threads(1)
    _federation = fedward.datasets.mnist.load(data_dir=data, classes=(0, 1), users=USERS, seed=0)


def accuracy(task: tuple[float, int]) -> tuple[float, int, float]:
    """Test accuracy after the last round of one run."""
    noise, seed = task
    model = fedward.models.build("mnist_cnn", input_shape=(1, 28, 28), num_classes=2, seed=seed)
    algorithm = fedward.presets.insdp_fedavg(
        num_users=USERS,
        sampler=fedward.EveryoneSampler(),
        local=DPSGD(
            learning_rate=0.02,
            probability=50 / 1266,
            expected_batch=50,
            steps=26,
            noise_multiplier=noise,
            clip_bound=0.7,
            momentum=0.9,
            weight_decay=5e-4,
        ),
    )
    backend = fedward.InProcess(model, _federation)
    for state, _ in fedward.train(algorithm, model, _federation, rounds=ROUNDS, seed=seed, backend=backend):
        pass
    assert _federation.test is not None
    return noise, seed, backend.evaluate(state.parameters, _federation.test).accuracy


def done() -> dict[tuple[float, int], float]:
    if not RESULTS.exists():
        return {}
    records = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {(record["noise_multiplier"], record["seed"]): record["accuracy"] for record in records}


def show() -> None:
    table = Table("σ", "paper", "measured", "95 % interval", "deviation of one run", "runs")
    results = done()
    for noise, paper in PAPER.items():
        values = 100 * np.array([value for (z, _), value in results.items() if z == noise])
        if len(values) > 1:
            error = float(values.std(ddof=1) / math.sqrt(len(values)))
            low, high = stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=error)
            table.add_row(
                f"{noise:g}",
                f"{paper:.2f}",
                f"{values.mean():.2f}",
                f"{low:.2f} to {high:.2f}",
                f"{values.std(ddof=1):.1f}",
                str(len(values)),
            )
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="where MNIST/raw lies; else FEDWARD_DATA")
    parser.add_argument("--runs", action="append", metavar="σ=N", help="how many runs at which noise")
    options = parser.parse_args()
    wanted = [pair.split("=") for pair in options.runs or ["1=100", "10=100", "15=100"]]
    finished = done()
    tasks = [
        (float(z), seed) for z, n in wanted for seed in range(int(n)) if (float(z), seed) not in finished
    ]
    context = multiprocessing.get_context("spawn")
    with context.Pool(os.cpu_count(), prepare, (options.data,)) as pool, RESULTS.open("a") as file:
        for noise, seed, value in track(pool.imap_unordered(accuracy, tasks), "training", total=len(tasks)):
            record = {"noise_multiplier": noise, "seed": seed, "accuracy": value}
            file.write(json.dumps(record) + "\n")
            file.flush()
    show()


if __name__ == "__main__":
    main()
