"""What the experiments share: the data, processes that train, and results that a kill does not lose."""

from __future__ import annotations

import argparse
import functools
import json
import math
import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

import fedward

Record = dict[str, Any]

TEN_DIGITS = tuple(range(10))
_data_dir: str | None = None


def carry_out(
    train: Callable[[Any], Record], tasks: Sequence[Any], results: Path, data: str | None = None
) -> None:
    """Trains on all cores, one thread each, and adds a line to ``results`` whenever a task is finished.

    Args:
      train: a function at the top of its file, from a task to its record.
      data: where MNIST lies; ``mnist`` reads it in every process.
    """
    if not tasks:
        return
    # Not multiprocessing.Pool: it waits for ever for the task of a process that was killed.
    pool = ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"), _prepare, (data,))
    with pool, results.open("a") as file:
        done = as_completed([pool.submit(train, task) for task in tasks])
        for future in track(done, "training", total=len(tasks)):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()


def finished(results: Path) -> list[Record]:
    """The records of all tasks that were finished."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def grouped(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records of each name, in the order of the file."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["name"], []).append(record)
    return groups


def mnist(users: int, classes: tuple[int, ...] = TEN_DIGITS) -> fedward.Federation:
    """The same split of the digits in every process and for every seed; read once."""
    return _mnist(_data_dir, users, classes)


@functools.cache
def _mnist(data: str | None, users: int, classes: tuple[int, ...]) -> fedward.Federation:
    return fedward.datasets.mnist.load(data_dir=data, users=users, classes=classes, seed=0)


def _prepare(data: str | None) -> None:
    """Once in every process."""
    global _data_dir
    torch.set_num_threads(1)
    _data_dir = data


def parser(description: str) -> argparse.ArgumentParser:
    """The command line of an experiment on MNIST; ``description`` is the script's docstring."""
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument("--data", help="where MNIST/raw lies; else FEDWARD_DATA")
    return made


def seeds_and_rounds(description: str, *, seeds: int, rounds: int) -> argparse.Namespace:
    """Reads a command line that asks for so many seeds and rounds, or only to draw."""
    made = parser(description)
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--show", action="store_true", help="only draw what is finished")
    return made.parse_args()


def half_width(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Half of Student's 95 % interval of the mean of two or more values."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    return float(stats.t.ppf(0.975, len(values) - 1) * error)


def noise_table(
    description: str,
    accuracy: Callable[[tuple[float, int]], Record],
    *,
    paper: Mapping[float, float],
    runs: Sequence[str],
    results: Path,
) -> None:
    """A table of paper 002: accuracy against the noise multiplier, beside what the paper prints.

    Args:
      accuracy: from a noise multiplier and a seed to the record ``measured`` makes.
      runs: how many runs at which noise, as on the command line, if it says nothing.
    """
    made = parser(description)
    made.add_argument("--runs", action="append", metavar="σ=N", help="how many runs at which noise")
    options = made.parse_args()
    wanted = [pair.split("=") for pair in options.runs or runs]
    done = {(record["noise_multiplier"], record["seed"]) for record in finished(results)}
    tasks = [(float(z), seed) for z, n in wanted for seed in range(int(n)) if (float(z), seed) not in done]
    carry_out(accuracy, tasks, results, options.data)

    table = Table("σ", "paper", "measured", "95 % interval", "deviation of one run", "runs")
    found = {(record["noise_multiplier"], record["seed"]): record["accuracy"] for record in finished(results)}
    for noise, printed in paper.items():
        values = 100 * np.array([value for (z, _), value in found.items() if z == noise])
        if len(values) > 1:
            mean, half = values.mean(), half_width(values)
            table.add_row(
                f"{noise:g}",
                f"{printed:.2f}",
                f"{mean:.2f}",
                f"{mean - half:.2f} to {mean + half:.2f}",
                f"{values.std(ddof=1):.1f}",
                str(len(values)),
            )
    Console().print(table)


def measured(
    algorithm: fedward.Algorithm, federation: fedward.Federation, *, noise: float, seed: int, rounds: int
) -> Record:
    """A run of such a table: test accuracy of ``mnist_cnn`` after the last round."""
    model = fedward.models.build(
        "mnist_cnn", input_shape=(1, 28, 28), num_classes=federation.num_classes, seed=seed
    )
    backend = fedward.InProcess(model, federation)
    for state, _ in fedward.train(algorithm, model, federation, rounds=rounds, seed=seed, backend=backend):
        pass
    assert federation.test is not None
    accuracy = backend.evaluate(state.parameters, federation.test).accuracy
    return {"noise_multiplier": noise, "seed": seed, "accuracy": accuracy}
