"""The results of studies, as ``result.json`` and ``rounds.jsonl`` have them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator
from scipy import stats

from fedward.rundir.audit_result import AuditResult
from fedward.rundir.file_record import FileRecord, StoredGuarantee
from fedward.rundir.manifest import Manifest
from fedward.rundir.promise import Promise

REMEDY = "remove it, and the same command makes it again"


class AttackOutcome(FileRecord):
    """What one poisoning achieved on triggered test examples; a cost that is not finite is None."""

    success: float
    cost: float | None
    examples: int


class Measured(FileRecord):
    """What was measured of a model.

    ``accuracy`` is None where nothing was measured, ``attack_success`` where nothing is triggered. A loss or
    a cost beside one of them is None where it is not finite.
    """

    accuracy: float | None = None
    loss: float | None = None
    attack_success: float | None = None
    attack_cost: float | None = None
    attacks: dict[str, AttackOutcome] = Field(default_factory=dict)
    capped_attack_cost: float | None = None
    parameter_cost: float | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for first, second in (("accuracy", "loss"), ("attack_success", "attack_cost")):
            there = [key for key in (first, second) if self.says(key)]
            if len(there) == 1:
                raise ValueError(f"it says {there[0]!r} alone")
            if there and getattr(self, first) is None:
                raise ValueError(f"{first!r} is None")
        return self


class OfRound(FileRecord):
    """A record of one round, counted from 0."""

    round: int


class MeasuredRound(Measured, OfRound):
    """What was measured of the model after a round."""


class TelemetryRound(OfRound):
    """The cohort of a round and what it sent: covered by no ε."""

    bounds: list[float | None]
    kept: str = ""
    cohort: list[int]
    dropped: int = 0
    rejected: list[int]
    norms: list[float | None]
    malicious: list[int]

    def norms_of(self, *, attackers: bool) -> list[float]:
        """The norms of attackers' updates, or of the others; a rejected update has none."""
        sent = zip(self.cohort, self.norms, strict=True)
        known = [(user, norm) for user, norm in sent if norm is not None and user not in self.rejected]
        return [norm for user, norm in known if (user in self.malicious) == attackers]


class Norms(FileRecord):
    """Mean norms of updates; None where there were none."""

    honest: float | None = None
    malicious: float | None = None

    @classmethod
    def of(cls, rounds: Sequence[TelemetryRound]) -> Norms:
        """Those of all these rounds: telemetry, covered by no ε."""

        def mean(attackers: bool) -> float | None:
            norms = [norm for each in rounds for norm in each.norms_of(attackers=attackers)]
            return sum(norms) / len(norms) if norms else None

        return cls(honest=mean(False), malicious=mean(True))


class KeptRound(OfRound):
    """A round that left the model as it was, and why."""

    why: str


class UsersSpent(FileRecord):
    """How the ε of users is distributed; None is no ε."""

    median: float | None
    largest: float | None
    histogram: list[list[int | float | None]]


class Ended(FileRecord):
    """How many rounds a training has had, and whether that are fewer than planned."""

    rounds: int
    stopped_by_budget: bool


class TrainingResult(Measured, Promise, Ended):
    """The result of ``fedward run``.

    Args:
      users, each_user: what each user has spent, where users protect themselves.
      looks: the cost of the server's looks at norms there.
      shares, epsilon_of_model, epsilon_of_looks: of the model and of a clip policy's looks.
      papers_claim, papers_claim_statement: what a paper claims for this training.
      rejected_updates, norms, kept_rounds: telemetry, covered by no ε.
      notes: on an attack.
      test_examples: that it was measured on.
    """

    users: UsersSpent | None = None
    each_user: str = ""
    looks: str = ""
    shares: list[str] = Field(default_factory=list)
    epsilon_of_model: float | None = None
    epsilon_of_looks: float | None = None
    papers_claim: StoredGuarantee | None = None
    papers_claim_statement: str = ""
    rejected_updates: int = 0
    notes: list[str] = Field(default_factory=list)
    norms: Norms = Norms()
    kept_rounds: list[KeptRound] = Field(default_factory=list)
    test_examples: int = 0

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from _shown(self, "rounds", "accuracy", "attack_success", "guarantee")


class Mean(FileRecord):
    """A mean with an interval by Student's t, 95 % unless it is said; None where there is none, as for one
    value."""

    mean: float | None
    low: float | None
    high: float | None

    @property
    def value(self) -> float:
        """The mean; NaN where it is not finite."""
        return math.nan if self.mean is None else self.mean

    @classmethod
    def of(
        cls, values: Sequence[float], least: float = 0.0, most: float = math.inf, error: float = 0.05
    ) -> Mean:
        """The mean of values that cannot be smaller than ``least`` or larger than ``most``.

        ``error`` is the probability with which the interval may miss.

        >>> found = Mean.of([0.8, 0.9, 1.0], most=1.0)
        >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
        (0.9, 0.652, 1.0)
        >>> Mean.of([0.8])
        Mean(mean=0.8, low=None, high=None)
        """
        mean = float(np.mean(values))
        if len(values) < 2 or not math.isfinite(mean):
            return cls(mean=mean, low=None, high=None)
        deviation = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        width = float(stats.t.ppf(1 - error / 2, len(values) - 1)) * deviation
        return cls(mean=mean, low=max(least, mean - width), high=min(most, mean + width))


class ReplicasResult(FileRecord):
    """The result of ``fedward replicas``: for each variant its measures over all replicas."""

    replicas: int
    jobs_asked_for: int = 0
    jobs_run: int = 0
    variants: dict[str, dict[str, Mean]]

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield "replicas", self.replicas
        yield "variants", list(self.variants)


class IntervalRecord(FileRecord):
    """A measured value, and between which bounds the true one lies with 95 % confidence."""

    value: float
    low: float
    high: float


class RatePoint(FileRecord):
    """The rates of an attack at one threshold."""

    tpr: IntervalRecord
    fpr: IntervalRecord


class RocRecord(FileRecord):
    """What an inference attack found, without its curve."""

    auc: IntervalRecord
    tpr_at_fpr: dict[str, RatePoint]
    unresolved_fpr: list[float]
    best_balanced_accuracy: float
    positives: int
    negatives: int

    @property
    def advantage(self) -> float:
        """TPR - FPR at the best threshold: 0 by guessing, 1 for an attack that is always right."""
        return 2 * self.best_balanced_accuracy - 1


class LimitRecord(FileRecord):
    """The most that privacy allows at the usual rates; None where nothing is promised."""

    about: str
    tpr_at_fpr: dict[str, float] | None
    auc: float | None


class MembershipResult(Promise):
    """The result of ``fedward infer membership``."""

    unit: str
    targets: int
    shadows: int
    attacks: dict[str, RocRecord]
    limit: LimitRecord
    crossed: dict[str, list[str]]
    member_loss: float
    other_loss: float
    accuracy: float | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.attacks:
            raise ValueError("it says nothing about any attack")
        return self

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from _shown(self, "unit", "targets", "shadows")
        yield "auc", {name: round(found.auc.value, 3) for name, found in self.attacks.items()}
        yield "guarantee", self.guarantee


class PropertyResult(Promise, RocRecord):
    """The result of ``fedward infer property``."""

    rounds: int
    limit: LimitRecord
    crossed: list[str]
    accuracy: float | None = None

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield "rounds", self.rounds
        yield "auc", round(self.auc.value, 3)
        yield "guarantee", self.guarantee


def _shown(record: FileRecord, *names: str) -> Iterator[tuple[str, Any]]:
    """The fields that a short text of a record has, if they are set."""
    yield from ((name, value) for name in names if (value := getattr(record, name)) is not None)


InferenceResult = MembershipResult | PropertyResult
Result = TrainingResult | ReplicasResult | InferenceResult | AuditResult


def read_result(content: Any, manifest: Manifest, file: Path) -> Result:
    """The result in a file, if it is one of the study that the manifest describes."""
    kind: type[Result] = TrainingResult if manifest.variants is None else ReplicasResult
    if manifest.variants is None and manifest.inference is not None:
        membership = manifest.inference_kind(file.with_name("run.json")) == "membership"
        kind = MembershipResult if membership else PropertyResult
    elif manifest.audit is not None:
        kind = AuditResult
    return kind.read(content, file, REMEDY)
