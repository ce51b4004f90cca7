"""``fedward.replicas``: many trainings of an experiment that differ only in sampling and noise."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Unpack

from rich.console import Console
from torch import nn

from fedward.api.records import Replicas, show
from fedward.api.source import ExperimentOptions, PathLike, Source, Vary, What, console_for, source_from
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.config import experiment as config
from fedward.config.vary import variants
from fedward.core.federation import Federation
from fedward.reports.terminal import replica_table as report
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.live_progress import follow_replicas
from fedward.rundir.part_record import PartRecord
from fedward.rundir.results import ReplicasResult
from fedward.rundir.run_record import load
from fedward.studies.part_study import PartStudy
from fedward.studies.replicas.replica_study import ReplicaRun, ReplicaStudy, prepare_variants
from fedward.studies.study import carry_out


def replicas(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    replicas: int,
    vary: Vary = (),
    save_space: bool = False,
    block: int | None = None,
    range: str | None = None,
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> Replicas:
    """Trains M replicas, goes on with them, or adds more: what ``fedward replicas`` does.

    Args:
      what, model, federation, options: as in ``fedward.train``.
      replicas: M, how many trainings of each variant.
      vary: keys and the values they take: ``{"algorithm.noise_multiplier": [1, 2]}``.
      save_space: keep running sums, not the confidences of every replica.
      block: how many replicas go through their rounds together.
      range: ``A:B``: only replicas A to B - 1, in a directory for ``fedward.merge``.
      out: the run directory; ``runs/NAME-replicas`` if not given.
      data, compute, quiet: as in ``fedward.train``.
    """
    source = source_from(what, model, federation, **options)
    path = source.directory(out, "-replicas")
    folder = None if data is None else Path(data)
    wanted = plan_replicas(source, vary, folder, replicas, save_space, block, range)
    carry_out_replicas(wanted, path, source.compute(compute), console_for(quiet))
    found = show(load(path))
    assert isinstance(found, Replicas)  # it has just been made
    return found


def plan_replicas(
    source: Source,
    vary: Vary,
    data: Path | None,
    replicas: int,
    save_space: bool,
    block: int | None,
    range: str | None = None,
) -> ReplicaRun:
    """Checks every variant and loads the data."""
    contents = variants(source.content, source.axes(vary))
    experiments = {name: config.from_content(each, source.name) for name, each in contents.items()}
    return ReplicaRun(
        variants=prepare_variants(experiments, data),
        replicas=replicas,
        save_space=save_space,
        block=block,
        part=None if range is None else PartRecord.parse(range, replicas),
    )


def carry_out_replicas(
    wanted: ReplicaRun, path: Path, compute: Compute, console: Console
) -> ReplicasResult | PartRecord:
    """Trains in a run directory; heading and progress go to the console."""
    report.heading(console, wanted, path)
    first = wanted.first
    terminal.engine(console, engine_in_words(first.model, first.federation, compute), path)
    watch = partial(follow_replicas, console, wanted)
    study = ReplicaStudy(wanted=wanted)
    if wanted.part is not None:
        return carry_out(PartStudy(whole=study, part=wanted.part), path, compute, watch)
    return carry_out(study, path, compute, watch)
