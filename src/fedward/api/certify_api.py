"""``fedward.certify``: M trainings, and what attackers provably cannot change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack, cast

from rich.console import Console
from torch import nn

from fedward.api.records import Replicas, show
from fedward.api.source import ExperimentOptions, PathLike, Vary, What, console_for, source_from
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.certificates.beside_headline import ceiling_in_words
from fedward.certificates.claims import Claims
from fedward.certificates.others import Proof
from fedward.certificates.others.setting_file import proof_from_json
from fedward.certificates.replica_scores import Score
from fedward.certificates.setting import Setting
from fedward.certificates.threat import Attendance
from fedward.core.federation import Federation
from fedward.privacy.group import THREATS, Threat
from fedward.reports.pictures import certified_picture
from fedward.reports.terminal import attack_cost_table as attack_cost
from fedward.reports.terminal import certified_table as certified_accuracy
from fedward.reports.terminal import replica_table as report
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.console import say
from fedward.reports.terminal.live_progress import follow_replicas
from fedward.rundir.part_record import PartRecord
from fedward.rundir.run_record import load
from fedward.studies.certification.certification_study import (
    Begun,
    Certification,
    Outcome,
    plan_certification,
)
from fedward.studies.certification.claimed_ceiling import planned_ceilings
from fedward.studies.part_study import PartStudy
from fedward.studies.study import carry_out


def certify(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    replicas: int = 1000,
    vary: Vary = (),
    attackers: Sequence[int] | None = None,
    threats: Sequence[str] = (),
    attendance: str = "drawn",
    score: str = "confidence",
    method: str | None = None,
    error: float = 0.01,
    simultaneous: bool = False,
    until: Sequence[int] = (),
    by: Proof | Mapping[str, Any] | None = None,
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    save_space: bool = False,
    block: int | None = None,
    range: str | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> Replicas:
    """Trains M replicas, or goes on with them, and certifies: what ``fedward certify`` does.

    Without an ``[attack]`` table every test prediction is certified; with one, and ``attackers``, the cost of
    the attack is measured and bounded. The result is the run as ``fedward.load`` reads it.

    Args:
      what, model, federation, options: as in ``fedward.train``.
      replicas: M, how many trainings; fixed beforehand.
      vary: keys and the values they take: ``{"algorithm.noise_multiplier": [1, 2]}``.
      attackers: how many users attack, or how many examples are poisoned.
      threats: ``inject``, ``present``, ``compromise``; all three if none.
      attendance: ``drawn``, ``every-round`` or ``chosen``: when attackers take part.
      score: ``confidence`` or ``vote``.
      method: how means are bounded.
      error: ψ, with which the certificate may fail.
      simultaneous: ψ for all test examples together, not for each of them.
      until: stop before M once every example is decided against these k; with ``betting_votes`` and votes.
      by: another proof than fedward's own: ``DisjointGroups(groups=50)`` (as many trainings as groups),
        ``RandomGroups(size=20)`` or ``ParameterSmoothing()`` of ``fedward.certificates.others``, or the same
        as ``{"name": "flcert", "groups": 50}``.
      out: the run directory; ``runs/NAME-certified`` if not given.
      data, compute, quiet: as in ``fedward.train``.
      save_space: keep running sums, not the confidences of every replica.
      block: how many replicas go through their rounds together.
      range: ``A:B``: only replicas A to B - 1 are trained, in a directory for ``fedward.merge``.
    """
    claims = Claims(
        replicas=replicas,
        threats=cast(tuple[Threat, ...], tuple(threats) or THREATS),
        attendance=cast(Attendance, attendance),
        score=cast(Score, score),
        method=method,
        error=error,
        simultaneous=simultaneous,
        until=tuple(until),
        by=proof_from_json(dict(by)) if isinstance(by, Mapping) else by,
    )
    source = source_from(what, model, federation, **options)
    compute = source.compute(compute)
    path = source.directory(out, "-certified")
    study = plan_certification(
        source.content,
        source.name,
        claims,
        axes=source.axes(vary),
        attackers=attackers,
        data=None if data is None else Path(data),
        save_space=save_space,
        block=block,
        range=range,
    )
    carry_out_certification(study, path, compute, console_for(quiet))
    found = show(load(path))
    assert isinstance(found, Replicas)  # it has just been made
    return found


def carry_out_certification(
    study: Certification, path: Path, compute: Compute, console: Console
) -> Outcome | PartRecord:
    """Certifies in a run directory; heading and progress go to the console."""
    first = study.wanted.first
    report.heading(console, study.wanted, path)
    terminal.engine(console, engine_in_words(first.model, first.federation, compute), path)
    if study.costs is None:
        say(console, *_ceilings(study))
    watch = partial(follow_replicas, console, study.wanted)
    if study.wanted.part is not None:
        return carry_out(PartStudy(whole=study, part=study.wanted.part), path, compute, watch)
    return carry_out(study, path, compute, watch, _draw)


def _ceilings(study: Certification) -> list[str]:
    """What M allows at most, for each variant, before anything is trained."""
    several = len(study.settings) > 1
    return [
        f"{name}: {told}" if several else told
        for name, setting in study.settings.items()
        if isinstance(setting, Setting)
        for told in [ceiling_in_words(planned_ceilings(setting, study.wanted.variants[name]))]
    ]


def record_of(found: Outcome) -> dict[str, Any]:
    """What was certified of each variant, as plain values: ``certified.json``."""
    if found.costs:
        return {name: attack_cost.record(each) for name, each in found.costs.items()}
    return {name: certified_accuracy.record(each) for name, each in found.predictions.items()}


def _draw(place: Begun, found: Outcome) -> None:
    files = place.run.files
    if found.costs:
        picture = attack_cost.picture(found.costs).png(dpi=attack_cost.resolution(found.costs))
        files.write("attack_cost.png", picture)
    else:
        files.write("certified_accuracy.png", certified_picture.picture(found.predictions).png())
    files.write("certified.json", (json.dumps(record_of(found), indent=1) + "\n").encode())
