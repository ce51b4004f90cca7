"""``fedward.train``: one training from beginning to end; ``fedward.rounds``: round by round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from torch import nn

from fedward.api.records import Run, show
from fedward.api.source import Changes, PathLike, Source, What, console_for, source_from
from fedward.attacks import Attack
from fedward.backends import InProcess
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.config import experiment as config
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.train import train as train_with
from fedward.core.types import Adversary, Backend, RoundLog, ServerState
from fedward.privacy.budget import Budget
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.live_progress import follow_run
from fedward.studies.study import carry_out
from fedward.studies.training.setup import Setup
from fedward.studies.training.training_study import TrainingStudy, prepare


def train(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    rounds: int | None = None,
    seed: int | None = None,
    attack: Attack | Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    changes: Changes = (),
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    trust: bool = False,
    quiet: bool = False,
) -> Run:
    """Trains, or goes on where it was left, as ``fedward run`` does, and returns the run.

    Args:
      what: an experiment file, its tables as a dictionary, or an algorithm. An algorithm needs a model, a
        federation, rounds, a seed and ``out`` besides.
      model, federation: in the place of the tables ``[model]`` and ``[data]``.
      rounds, seed: in the place of these keys.
      attack: an ``Attack``, or the table ``[attack]``.
      privacy: the table ``[privacy]``: users, delta, accountant, budget.
      changes: other values for some keys: ``{"rounds": 5}``, or ``["rounds=5"]`` as on the command line.
      out: the run directory; ``runs/NAME`` if not given.
      data: where data sets lie; else ``FEDWARD_DATA``.
      compute: where and how it is trained, such as ``Compute(workers=2)``; else as the table ``[compute]``
        says, or on all cores.
      trust: whether code that the file names may be imported and run.
      quiet: no heading and no progress.
    """
    source = source_from(
        what,
        model,
        federation,
        rounds=rounds,
        seed=seed,
        attack=attack,
        privacy=privacy,
        changes=changes,
        trust=trust,
    )
    folder = None if data is None else Path(data)
    return train_source(source, source.directory(out), folder, source.compute(compute), console_for(quiet))[1]


def rounds(
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
) -> Iterator[tuple[ServerState, RoundLog]]:
    """Trains round by round: yields the server's state and a log after each, and stores nothing.

    Args:
      algorithm, model, federation: what is trained, on whose data.
      rounds: how many, counted from the first.
      seed, replica, draw: of all that is drawn.
      state: goes on from there.
      adversary: as ``Attack.stage`` gives it.
      budget: ends the training before it spends more.
      backend: runs the jobs; this process if not given.
    """
    return train_with(
        algorithm,
        model,
        federation,
        backend or InProcess(model, federation),
        rounds=rounds,
        seed=seed,
        replica=replica,
        draw=draw,
        state=state,
        adversary=adversary,
        budget=budget,
    )


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
