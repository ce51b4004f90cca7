"""A training as the page compares it: a run, or one variant of a run of many trainings, with its colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.config.made_objects import is_object
from fedward.privacy import Guarantee
from fedward.reports.page.charts.line_style import LineStyle
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord


@dataclass(frozen=True, kw_only=True)
class ComparedTraining:
    """What has a row, and a colour, of its own.

    Args:
      run: the name of its run on the page; key: the id of that run's part.
      sole: whether no other run is on the page, so that variants need no more than their own names.
      record: the files of the run.
      variant: which of its variants; "all" where there is one.
      experiment: what was trained.
      guarantee: of one training; None if nothing is guaranteed, or nothing is released yet.
      released: whether anything is.
      number: of its colour, from 0 in the order of the page.
    """

    run: str
    key: str
    sole: bool = False
    record: Record
    variant: str = "all"
    experiment: dict[str, Any]
    guarantee: Guarantee | None
    released: bool
    number: int

    @property
    def name(self) -> str:
        if self.variant == "all":
            return self.run
        return self.variant if self.sole else f"{self.run}: {self.variant}"

    @property
    def style(self) -> LineStyle:
        """How it is drawn wherever runs stand beside each other."""
        return LineStyle.numbered(self.number)

    @property
    def alone(self) -> bool:
        """Whether the run is this training, and not many that are like it."""
        return isinstance(self.record, RunRecord)

    @property
    def models(self) -> int:
        """How many it has trained, or will have."""
        return max(1, self.record.replicas) if isinstance(self.record, ReplicasRecord) else 1

    @property
    def accuracy(self) -> float | None:
        """Of the model; of many trainings the mean over their models."""
        if isinstance(self.record, RunRecord):
            return self.record.last.accuracy
        if isinstance(self.record, ReplicasRecord):
            values = {} if self.record.result is None else self.record.result.variants.get(self.variant, {})
            return values["accuracy"].mean if "accuracy" in values else None
        if isinstance(self.record, InferenceRecord):
            return None if self.record.result is None else self.record.result.accuracy
        return None

    @property
    def attack_success(self) -> float | None:
        """The share of triggered test examples that go where attackers want them."""
        if isinstance(self.record, RunRecord):
            return self.record.last.attack_success
        if not isinstance(self.record, ReplicasRecord) or self.record.result is None:
            return None
        values = self.record.result.variants.get(self.variant, {})
        successes = [mean.value for key, mean in values.items() if key.startswith("success.")]
        return sum(successes) / len(successes) if successes else None

    @property
    def attack(self) -> Mapping[str, Any] | None:
        """The attack of the experiment, if there is one."""
        return self.experiment.get("attack") or None

    @property
    def data_name(self) -> str:
        """The data set, as a sentence calls it."""
        data = self.experiment["data"]
        return "data of a Python program" if is_object(data) else str(data.get("name"))

    @property
    def users(self) -> int | None:
        """How many users hold the data, if that is known."""
        return self.record.manifest.data.users


def trainings_of(
    record: Record, run: str, key: str, first: int, *, sole: bool = False
) -> list[ComparedTraining]:
    """The trainings of a run that stands on the page under this name and id, numbered from ``first``."""
    return [
        ComparedTraining(
            run=run,
            key=key,
            sole=sole,
            record=record,
            variant=variant,
            experiment=experiment,
            guarantee=guarantee if guarantee is not None and guarantee.private else None,
            released=guarantee is not None,
            number=number,
        )
        for number, (variant, experiment, guarantee) in enumerate(_variants(record), first)
    ]


def _variants(record: Record) -> Iterator[tuple[str, dict[str, Any], Guarantee | None]]:
    if not isinstance(record, ReplicasRecord):
        yield "all", record.experiment, record.guarantee()
        return
    for variant, experiment in record.experiments.items():
        yield variant, experiment, record.one_training(variant)
