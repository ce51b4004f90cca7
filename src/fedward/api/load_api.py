"""``fedward.load``: what was run before."""

from __future__ import annotations

import os
from pathlib import Path

from fedward.api.records import Arena, Audit, Inference, Replicas, Run, Sweep, show
from fedward.rundir.arena_record import is_arena
from fedward.rundir.run_record import load as load_run
from fedward.rundir.sweep_record import is_sweep, read_sweep_record
from fedward.studies.arena.arena_results import read_arena_record


def load(path: str | os.PathLike[str]) -> Run | Replicas | Inference | Audit | Sweep | Arena:
    """Reads a directory of ``fedward run``, ``replicas``, ``certify``, ``infer``, ``audit``, ``sweep`` or
    ``arena``.

    Nothing is changed or locked; a run that is under way is read as far as it is. Every ε is computed from
    the run's ledgers, and a file that states another is refused.

    Args:
      path: the run directory, or that of a finished sweep or an arena.
    """
    folder = Path(path)
    if is_arena(folder):
        return show(read_arena_record(folder))
    return show(read_sweep_record(folder)) if is_sweep(folder) else show(load_run(folder))
