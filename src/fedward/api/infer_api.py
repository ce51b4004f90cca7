"""``fedward.infer``: what models and updates give away about those who trained them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Unpack

from rich.console import Console
from torch import nn

from fedward.api.records import Inference, show
from fedward.api.source import ExperimentOptions, PathLike, Source, What, console_for, source_from
from fedward.attacks.inference import Membership, MembershipInference, Property, PropertyInference, Roc
from fedward.attacks.inference.limit import Limit
from fedward.backends.compute import Compute
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config import experiment as config
from fedward.core.federation import Federation
from fedward.reports.terminal import inference_tables as report
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.live_progress import follow_inference
from fedward.rundir.inference_record import PROPERTY, write_curves
from fedward.rundir.results import MembershipResult, PropertyResult
from fedward.rundir.run_files import RunFiles
from fedward.rundir.run_record import load
from fedward.rundir.store import RunDirectory
from fedward.studies.inference.membership_study import prepare_membership
from fedward.studies.inference.property_study import prepare_property
from fedward.studies.study import carry_out
from fedward.studies.training.setup import Setup


def infer(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    inference: MembershipInference | PropertyInference | None = None,
    property: str | None = None,
    users: int | None = None,
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> Inference:
    """Attacks a training by inference, or goes on with that: what ``fedward infer`` does.

    Args:
      what, model, federation, options: as in ``fedward.train``.
      inference: ``MembershipInference(...)``, the default, asks who was trained on;
        ``PropertyInference(...)`` asks whether the victim's data has a property.
      property: which one: a name in the data set, a .npy file with a bool for each training example, or
        ``label:CLASS``. Property inference needs it.
      users: deal the data to so many; then only attacker and victim have the property.
      out: the run directory; ``runs/NAME-membership`` or ``runs/NAME-property`` if not given.
      data, compute, quiet: as in ``fedward.train``.
    """
    question = MembershipInference() if inference is None else inference
    source = source_from(what, model, federation, **options)
    folder, place = None if data is None else Path(data), source.compute(compute)
    console = console_for(quiet)
    if isinstance(question, MembershipInference):
        path = source.directory(out, "-membership")
        infer_membership(source, question, path, folder, place, console)
    elif isinstance(question, PropertyInference):
        if property is None:
            raise InvalidValue("property must be given with PropertyInference, got none")
        path = source.directory(out, "-property")
        infer_property(source, question, property, users, path, folder, place, console)
    else:
        raise InvalidType(
            f"inference must be a MembershipInference or a PropertyInference, got {type(question).__name__}"
        )
    found = show(load(path))
    assert isinstance(found, Inference)  # it has just been made
    return found


def infer_membership(
    source: Source,
    question: MembershipInference,
    path: Path,
    data: Path | None,
    compute: Compute,
    console: Console,
) -> tuple[Membership, MembershipResult]:
    """Asks who was trained on; heading and progress go to the console."""
    study = prepare_membership(config.from_content(source.content, source.name), question, data)
    title = f"{study.setup.algorithm.name}: membership of {'an' if question.unit == 'example' else 'a'} "
    _print_heading(console, study.setup, path, compute)

    def draw(place: RunDirectory, outcome: tuple[Membership, MembershipResult]) -> None:
        _draw(place.files, "membership", outcome[0].attacks, outcome[0].limit, title + question.unit)

    return carry_out(study, path, compute, partial(follow_inference, console), draw)


def infer_property(
    source: Source,
    question: PropertyInference,
    which: str,
    users: int | None,
    path: Path,
    data: Path | None,
    compute: Compute,
    console: Console,
) -> tuple[Property, PropertyResult]:
    """Asks whether the victim's data has a property; heading and progress go to the console."""
    experiment = config.from_content(source.content, source.name)
    study = prepare_property(experiment, question, which, users=users, data_dir=data)
    setup = study.setup
    title = f"{setup.algorithm.name}, {setup.federation.num_users} users: property inference"
    _print_heading(console, setup, path, compute)

    def draw(place: RunDirectory, outcome: tuple[Property, PropertyResult]) -> None:
        _draw(place.files, "property", {PROPERTY: outcome[0].roc}, outcome[0].limit, title)

    return carry_out(study, path, compute, partial(follow_inference, console), draw)


def _print_heading(console: Console, setup: Setup, path: Path, compute: Compute) -> None:
    terminal.heading(console, setup, path)
    terminal.engine(console, setup.engine(compute), path)


def _draw(files: RunFiles, kind: str, curves: Mapping[str, Roc], limit: Limit, title: str) -> None:
    write_curves(files, curves, limit)
    picture = report.picture(curves, limit, title=title, logarithmic=kind == "membership")
    files.write(f"{kind}.png", picture.png())
