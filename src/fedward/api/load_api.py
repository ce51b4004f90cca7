"""``fedward.load``: what was run before."""

from __future__ import annotations

import os
from pathlib import Path

from fedward.api.records import Inference, Replicas, Run, Sweep, show
from fedward.rundir.run_record import load as load_run
from fedward.rundir.sweep_record import is_sweep, read_sweep_record


def load(path: str | os.PathLike[str]) -> Run | Replicas | Inference | Sweep:
    """Reads a directory of ``fedward run``, ``replicas``, ``certify``, ``infer`` or ``sweep``.

    Nothing is changed or locked; a run that is under way is read as far as it is. Every ε is computed from
    the run's ledgers, and a file that states another is refused.

    Args:
      path: the run directory, or that of a finished sweep.
    """
    folder = Path(path)
    return show(read_sweep_record(folder)) if is_sweep(folder) else show(load_run(folder))
