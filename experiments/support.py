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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import track
from scipy import stats

import fedward
from published import add_place_options

Record = dict[str, Any]

TEN_DIGITS = tuple(range(10))
_data_dir: str | None = None


def carry_out(
    train: Callable[[Any], Record],
    tasks: Sequence[Any],
    results: Path,
    data: str | None = None,
    processes: int | None = None,
) -> None:
    """Trains in processes of one thread each, and adds a line to ``results`` whenever a task is finished.

    Args:
      train: a function at the top of its file, from a task to its record.
      data: where MNIST lies; ``mnist`` reads it in every process.
      processes: how many; one for each core if not given.
    """
    if not tasks:
        return
    # Not multiprocessing.Pool: it waits for ever for the task of a process that was killed.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes or os.cpu_count(), context, prepare, (data,))
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


def mnist(users: int, classes: tuple[int, ...] = TEN_DIGITS, digits: int | None = None) -> fedward.Federation:
    """The same split of the digits in every process and for every seed; read once.

    Args:
      digits: how many each user has, of 60,000; all of them are dealt out if not given.
    """
    return _mnist(_data_dir, users, classes, digits)


def data_folder() -> str | None:
    """Where MNIST lies, in a process that trains."""
    return _data_dir


@functools.cache
def _mnist(data: str | None, users: int, classes: tuple[int, ...], digits: int | None) -> fedward.Federation:
    dealt = users if digits is None else 60_000 // digits
    federation = fedward.datasets.mnist.load(data_dir=data, users=dealt, classes=classes, seed=0)
    ends = federation.offsets[: users + 1]
    return replace(
        federation,
        examples=federation.examples.span(0, int(ends[-1])),
        offsets=ends,
        names=federation.names[:users],
    )


def prepare(data: str | None) -> None:
    """Once in every process: how it computes, and where its data lies."""
    global _data_dir
    torch.set_num_threads(1)
    _data_dir = data


def parser(description: str) -> argparse.ArgumentParser:
    """The command line of an experiment on MNIST; ``description`` is the script's docstring."""
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument("--data", help="where MNIST/raw lies; else FEDWARD_DATA")
    add_place_options(made)
    return made


def seeds_and_rounds(
    description: str,
    *,
    seeds: int,
    rounds: int,
    sizes: Mapping[str, str] | None = None,
    more: Callable[[argparse.ArgumentParser], object] | None = None,
) -> argparse.Namespace:
    """Reads a command line that asks for so many seeds and rounds, or only to draw.

    Args:
      sizes: other sizes, such as ``small``, and what they are.
      more: adds options of the experiment's own.
    """
    made = parser(description)
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--processes", type=int, help="how many train at once; one for each core if not given")
    made.add_argument("--show", action="store_true", help="only draw what is finished")
    for size, what in (sizes or {}).items():
        made.add_argument(f"--{size}", action="store_true", help=what)
    if more is not None:
        more(made)
    return made.parse_args()


def half_width(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Half of Student's 95 % interval of the mean of two or more values."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    return float(stats.t.ppf(0.975, len(values) - 1) * error)


def interval(values: Iterable[float], digits: int = 1) -> str:
    """Mean and half of Student's 95 % interval over seeds, in percent; the mean alone of a single one."""
    numbers = 100 * np.array(list(values), dtype=float)
    half = f" ± {half_width(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{numbers.mean():.{digits}f}{half}"


def band(records: list[Record], key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, least and largest over seeds, round by round."""
    curves = np.array([record[key] for record in records], dtype=float)
    return curves.mean(0), curves.min(0), curves.max(0)


def put_between(page: Path, mark: str, lines: Iterable[str]) -> None:
    """Replaces what stands between two comments of a page, ``<!-- mark -->`` and ``<!-- end of mark -->``."""
    before, begin, rest = page.read_text(encoding="utf8").partition(f"<!-- {mark} -->\n")
    _, end, after = rest.partition(f"<!-- end of {mark} -->")
    if not begin or not end:
        raise SystemExit(f"{page} must hold <!-- {mark} --> and <!-- end of {mark} -->")
    text = "\n".join(("", *lines, "", ""))
    page.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf8")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
