"""``fedward.train``: an experiment file from beginning to end, or an algorithm round by round."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, overload

from rich.console import Console
from torch import nn

from fedward.api.records import Run, show
from fedward.api.source import Changes, File, Source, console_for, source_from
from fedward.backends import InProcess
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.config import experiment as config
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.train import train as train_with
from fedward.core.types import Adversary, Backend, RoundLog, ServerState
from fedward.privacy.budget import Budget
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.live_progress import follow_run
from fedward.studies.study import carry_out
from fedward.studies.training.setup import Setup
from fedward.studies.training.training_study import TrainingStudy, prepare


@overload
def train(
    file: File,
    *,
    changes: Changes = (),
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
) -> Run: ...


@overload
def train(
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    *,
    rounds: int,
    seed: int,
    replica: int = 0,
    draw: str = "",
    state: ServerState | None = None,
    adversary: Adversary | None = None,
    budget: Budget | None = None,
    backend: Backend | None = None,
) -> Iterator[tuple[ServerState, RoundLog]]: ...


def train(*arguments: Any, **options: Any) -> Run | Iterator[tuple[ServerState, RoundLog]]:
    """Trains.

    ``train(file)`` does what ``fedward run`` does, or goes on with it where it was left, and returns the run
    as ``fedward.load`` reads it. ``train(algorithm, model, federation, rounds=..., seed=...)`` is a plain
    generator: it yields the server's state and a log after every round, and nothing is stored.

    Args of ``train(file)``:
      file: an experiment file, or its tables as a dictionary.
      changes: other values for some keys: ``{"rounds": 5}``, or ``["rounds=5"]`` as on the command line.
      out: the run directory; ``runs/NAME`` if not given.
      data: where data sets lie; else ``FEDWARD_DATA``.
      compute: where and how it is trained, such as ``Compute(workers=2)``; else on all cores.
      quiet: no heading and no progress.
    """
    if "algorithm" in options or (arguments and isinstance(arguments[0], Algorithm)):
        return _train_by_rounds(*arguments, **options)
    return _train_file(*arguments, **options)


def _train_file(
    file: File,
    *,
    changes: Changes = (),
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
) -> Run:
    compute, source = (compute or Compute()).check(), source_from(file, changes)
    path, folder = source.directory(out), None if data is None else Path(data)
    return train_source(source, path, folder, compute, console_for(quiet))[1]


def _train_by_rounds(
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    *,
    backend: Backend | None = None,
    **options: Any,
) -> Iterator[tuple[ServerState, RoundLog]]:
    """``fedward.core.train.train`` in this process, unless another backend is given."""
    return train_with(algorithm, model, federation, backend or InProcess(model, federation), **options)


def train_source(
    source: Source, path: Path, data: Path | None, compute: Compute, console: Console
) -> tuple[Setup, Run]:
    """Runs an experiment, or goes on with it; heading and progress go to the console."""
    setup = prepare(config.from_content(source.content, source.name), data)
    terminal.heading(console, setup, path)
    terminal.engine(console, engine_in_words(setup.model, setup.federation, compute), path)
    found = carry_out(TrainingStudy(setup=setup), path, compute, partial(follow_run, console, setup))
    shown = show(found)
    assert isinstance(shown, Run)
    return setup, shown
