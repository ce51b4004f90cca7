"""``fedward.certify``: M trainings, and what attackers provably cannot change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from fedward.api.records import Replicas, show
from fedward.api.source import Changes, File, console_for, source_from
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.base.durable_files import write_atomically
from fedward.base.validate import InvalidType
from fedward.certificates.claims import Claims
from fedward.certificates.replica_scores import Score
from fedward.certificates.threat import Attendance
from fedward.config.vary import Axis
from fedward.privacy.group import THREATS, Threat
from fedward.report.pictures import certified_picture
from fedward.report.terminal import attack_cost_table as attack_cost
from fedward.report.terminal import certified_table as certified_accuracy
from fedward.report.terminal import replica_table as report
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.live_progress import follow_replicas
from fedward.rundir.run_record import load
from fedward.studies.certification.certification_study import Certification, Outcome, plan_certification
from fedward.studies.study import carry_out

Vary = Mapping[str, Sequence[Any]] | Sequence[str]


def certify(
    file: File,
    *,
    replicas: int = 1000,
    changes: Changes = (),
    vary: Vary = (),
    attackers: Sequence[int] | None = None,
    threats: Sequence[str] = (),
    attendance: str = "drawn",
    score: str = "confidence",
    method: str | None = None,
    error: float = 0.01,
    simultaneous: bool = False,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    compute: Compute | None = None,
    save_space: bool = False,
    block: int | None = None,
    quiet: bool = False,
) -> Replicas:
    """Trains M replicas, or goes on with them, and certifies: what ``fedward certify`` does.

    Without an ``[attack]`` table every test prediction is certified; with one, and ``attackers``, the cost of
    the attack is measured and bounded. The result is the run as ``fedward.load`` reads it.

    Args:
      file: an experiment file, or its tables as a dictionary.
      replicas: M, how many trainings; fixed beforehand.
      changes: other values for some keys, ``{"rounds": 5}``.
      vary: keys and the values they take: ``{"algorithm.noise_multiplier": [1, 2]}``.
      attackers: how many users attack, or how many examples are poisoned.
      threats: ``inject``, ``present``, ``compromise``; all three if none.
      attendance: ``drawn``, ``every-round`` or ``chosen``: when attackers take part.
      score: ``confidence`` or ``vote``.
      method: how means are bounded.
      error: ψ, with which the certificate may fail.
      simultaneous: ψ for all test examples together, not for each of them.
      out: the run directory; ``runs/NAME-certified`` if not given.
      data, compute, quiet: as in ``fedward.train``.
      save_space: keep running sums, not the confidences of every replica.
      block: how many replicas go through their rounds together.
    """
    claims = Claims(
        replicas=replicas,
        threats=cast(tuple[Threat, ...], tuple(threats) or THREATS),
        attendance=cast(Attendance, attendance),
        score=cast(Score, score),
        method=method,
        error=error,
        simultaneous=simultaneous,
    )
    compute, source = (compute or Compute()).check(), source_from(file, changes)
    path = source.directory(out, "-certified")
    study = plan_certification(
        source.content,
        source.name,
        claims,
        axes=_axes(vary),
        attackers=attackers,
        data=None if data is None else Path(data),
        save_space=save_space,
        block=block,
    )
    carry_out_certification(study, path, compute, console_for(quiet))
    found = show(load(path))
    assert isinstance(found, Replicas)  # it has just been made
    return found


def carry_out_certification(study: Certification, path: Path, compute: Compute, console: Console) -> Outcome:
    """Certifies in a run directory; heading and progress go to the console."""
    first = study.wanted.first
    report.heading(console, study.wanted, path)
    terminal.engine(console, engine_in_words(first.model, first.federation, compute), path)
    return carry_out(study, path, compute, partial(follow_replicas, console, study.wanted), _draw)


def record_of(found: Outcome) -> dict[str, Any]:
    """What was certified of each variant, as plain values: ``certified.json``."""
    if found.costs:
        return {name: attack_cost.record(each) for name, each in found.costs.items()}
    return {name: certified_accuracy.record(each) for name, each in found.predictions.items()}


def _draw(path: Path, found: Outcome) -> None:
    if found.costs:
        attack_cost.picture(found.costs).save(
            path / "attack_cost.png", dpi=attack_cost.resolution(found.costs)
        )
    else:
        certified_picture.picture(found.predictions).save(path / "certified_accuracy.png")
    write_atomically(path / "certified.json", (json.dumps(record_of(found), indent=1) + "\n").encode())


def _axes(vary: Vary) -> list[Axis]:
    if isinstance(vary, str):
        raise InvalidType(f"vary must be a dictionary or a list of KEY=VALUE,VALUE, got the text {vary!r}")
    if isinstance(vary, Mapping):
        return [Axis(key=key, values=tuple(values)) for key, values in vary.items()]
    return [Axis.parse(text) for text in vary]
