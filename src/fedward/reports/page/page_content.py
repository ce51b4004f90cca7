"""The content of a page: findings, runs side by side, the certificate, and a part for each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from jinja2 import UndefinedError
from markupsafe import Markup

from fedward.base.validate import InvalidValue
from fedward.reports.page.certified.certified_part import certified_part
from fedward.reports.page.examples.triggered import Triggered, triggered
from fedward.reports.page.findings.arena_findings import ArenaFindings
from fedward.reports.page.findings.compared_training import ComparedTraining, trainings_of
from fedward.reports.page.findings.comparison import Comparison, compare_runs
from fedward.reports.page.findings.what_was_found import Findings, span, what_was_found
from fedward.reports.page.kinds.arena_part import arena_part
from fedward.reports.page.kinds.audited_part import audited_part
from fedward.reports.page.kinds.inference_part import inference_part
from fedward.reports.page.kinds.part import Place
from fedward.reports.page.kinds.replicas_part import replicas_part
from fedward.reports.page.kinds.run_part import run_part
from fedward.reports.templates import fill
from fedward.rundir.arena_record import ArenaRecord
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.studies.stored_data import Library


@dataclass(frozen=True, kw_only=True)
class Part:
    """What the page says about one run: its id, its name, a sample of its colour, and the part itself."""

    key: str
    name: str
    sample: Markup
    content: Markup


@dataclass(frozen=True, kw_only=True)
class OnlyCertificate:
    """What is certified about the only run of a page that has certificates, and the name of the run."""

    name: str
    content: Markup


@dataclass(frozen=True, kw_only=True)
class PageContent:
    """Everything between the head and the foot of a page.

    Args:
      found: the title, and the sentences that a reader sees first.
      cards: a card for each question that the runs answer.
      compared: the runs side by side; None for one training.
      certified: the certificate, which stands before the details if it is the only one.
      parts: the details, run by run.
    """

    found: Findings | ArenaFindings
    cards: Markup
    compared: Comparison | None
    certified: OnlyCertificate | None
    parts: tuple[Part, ...]


def content_of(records: Mapping[str, Record | ArenaRecord], library: Library, devices: int) -> PageContent:
    """What a page says about runs, by their names; an arena has a page of its own."""
    runs = {name: each for name, each in records.items() if not isinstance(each, ArenaRecord)}
    for name, each in records.items():
        if isinstance(each, ArenaRecord):
            return _content_of_arena(each, name)
    shown, certificates, parts = {}, {}, []
    trainings: list[ComparedTraining] = []
    for number, (name, run) in enumerate(runs.items(), 1):
        with _damage_in_words(run):
            own = trainings_of(run, name, f"run-{number}", len(trainings), sole=len(runs) == 1)
            place = Place(
                key=f"run-{number}",
                name=name,
                alone=len(runs) == 1,
                colours={each.variant: each.number for each in own},
            )
            shown[name] = triggered(run, library) if isinstance(run, RunRecord) else Triggered()
            if isinstance(run, ReplicasRecord) and run.certificates:
                certificates[name] = certified_part(run, f"{place.key}-certified", library, place.colours)
            only = _only(runs) == name
            content = _part(run, place, shown[name], None if only else certificates.get(name), devices)
        trainings += own
        parts.append(Part(key=place.key, name=name, sample=own[0].style.sample, content=content))
    found = what_was_found(len(runs), trainings, shown)
    return PageContent(
        found=found,
        cards=fill("page/findings/findings.html", found=found, span=span),
        compared=compare_runs(trainings) if len(trainings) > 1 else None,
        certified=next(
            (OnlyCertificate(name=name, content=each) for name, each in certificates.items() if _only(runs)),
            None,
        ),
        parts=tuple(parts),
    )


def _only(runs: Mapping[str, Record]) -> str | None:
    """The run that has certificates; None if several have, or none."""
    found = [name for name, run in runs.items() if isinstance(run, ReplicasRecord) and run.certificates]
    return found[0] if len(found) == 1 else None


def _content_of_arena(arena: ArenaRecord, name: str) -> PageContent:
    key = "run-1"
    with _damage_in_words(arena):
        content = arena_part(arena, key, name)
    return PageContent(
        found=ArenaFindings(arena=arena),
        cards=Markup(),
        compared=None,
        certified=None,
        parts=(Part(key=key, name=name, sample=Markup(), content=content),),
    )


def _part(run: Record, place: Place, shown: Triggered, certified: Markup | None, devices: int) -> Markup:
    if isinstance(run, RunRecord):
        return run_part(run, place, shown, devices)
    if devices > 1:
        raise InvalidValue(
            f"several devices per person are shown for trainings (fedward run), got {run.path}; leave "
            "them out for other runs"
        )
    if isinstance(run, InferenceRecord):
        return inference_part(run, place)
    if isinstance(run, AuditRecord):
        return audited_part(run, place)
    return replicas_part(run, place, certified)


@contextmanager
def _damage_in_words(record: Record | ArenaRecord) -> Iterator[None]:
    """Turns what files of another shape lead to into a refusal that names the run."""
    try:
        yield
    except InvalidValue:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, UndefinedError) as error:
        # The files are JSON, but not what fedward writes.
        raise InvalidValue(
            f"{record.path} holds a file that is damaged or was changed: {type(error).__name__}: {error}"
        ) from error
