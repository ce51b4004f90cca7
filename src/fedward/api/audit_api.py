"""``fedward.audit``: the ε that attacks prove, beside the one that is promised."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Unpack

from rich.console import Console
from torch import nn

from fedward.api.records import Audit, show
from fedward.api.source import ExperimentOptions, PathLike, Source, What, console_for, source_from
from fedward.auditing.audit_question import AuditQuestion, Mode, See
from fedward.backends.compute import Compute
from fedward.config import experiment as config
from fedward.core.federation import Federation
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.live_progress import follow_audit
from fedward.rundir.audit_result import AuditResult
from fedward.rundir.run_record import load
from fedward.studies.audit.audit_study import plan_audit
from fedward.studies.study import carry_out


def audit(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    mode: Mode = "mechanism",
    see: See | None = None,
    runs: int = 4000,
    canaries: int | None = None,
    error: float = 0.05,
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> Audit:
    """Attacks an experiment's own mechanism and bounds its ε from below: what ``fedward audit`` does.

    What comes back is typed: ``claimed``, ``lower_bound``, ``estimate``, ``verdict`` and ``assumptions``. A
    pass proves nothing; a ``violation`` proves, but for ``error``, that the claim is wrong.

    Args:
      what, model, federation, options: as in ``fedward.train``.
      mode: ``mechanism``, ``one-run`` or ``black-box``: see ``AuditQuestion``.
      see: ``rounds`` or ``final``; all rounds unless the mode is ``black-box``.
      runs: how many trainings; not of a one-run audit, which has one.
      canaries: of a one-run audit; as many as there is room for, at most 1,000, if not given.
      error: the probability with which the bounds may be wrong, all of them together.
      out: the run directory; ``runs/NAME-audit`` if not given.
      data, compute, quiet: as in ``fedward.train``.
    """
    question = make_question(mode, see, runs, canaries, error)
    source = source_from(what, model, federation, **options)
    path = source.directory(out, "-audit")
    folder, place = None if data is None else Path(data), source.compute(compute)
    audit_source(source, question, path, folder, place, console_for(quiet))
    found = show(load(path))
    assert isinstance(found, Audit)  # it has just been made
    return found


def make_question(
    mode: Mode, see: See | None, runs: int, canaries: int | None, error: float
) -> AuditQuestion:
    """The question, with the view that the mode has if none is asked for."""
    usual: See = "final" if mode == "black-box" else "rounds"
    return AuditQuestion(mode=mode, see=see or usual, runs=runs, canaries=canaries, error=error)


def audit_source(
    source: Source, question: AuditQuestion, path: Path, data: Path | None, compute: Compute, console: Console
) -> AuditResult:
    """Audits an experiment; heading and progress go to the console."""
    study = plan_audit(config.from_content(source.content, source.name), question, data)
    setup = study.claim.setup
    terminal.heading(console, setup, path)
    terminal.engine(console, setup.engine(compute), path)
    return carry_out(study, path, compute, partial(follow_audit, console))
