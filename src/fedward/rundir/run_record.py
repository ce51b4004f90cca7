"""A run directory of any kind, read into values: ``fedward.load``."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fedward.base.arrays_file import read_array
from fedward.base.table_rows import frame
from fedward.base.validate import InvalidValue, one_of, whole
from fedward.certificates.certificate import Certificate
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir.audit_record import AuditRecord, read_audit
from fedward.rundir.certified_record import read_certified
from fedward.rundir.damage import NO_DIGESTS, Digests
from fedward.rundir.durability import Durability
from fedward.rundir.inference_record import InferenceRecord, read_inference
from fedward.rundir.manifest import Manifest
from fedward.rundir.place import SWEPT
from fedward.rundir.replica_ledgers import OneTraining, read_ledgers, training_of
from fedward.rundir.replica_store import count_finished, stored_draw
from fedward.rundir.results import Measured, MeasuredRound, ReplicasResult, TelemetryRound, TrainingResult
from fedward.rundir.spent import Spent, reason_unknown, unknown_guarantee
from fedward.rundir.spent_by_person import guarantee_of_a_person
from fedward.rundir.store import RunDirectory

ReplicasTable = Literal["certified", "measured"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRecord:
    """A run of ``fedward run``, finished or not.

    Attributes:
      path: its directory.
      manifest: what is run, as in ``run.json``.
      metrics: what was measured of the released models, one record for each measured round.
      telemetry: cohorts and norms, one record a round; covered by no ε, empty with system entropy.
      ledger: what has been spent; None before the first round.
      users: what each user has spent, where users protect themselves.
      unknown: why it is not known what was spent, where a ledger is missing.
      result: the summary, with every ε from the ledgers; None if the run is not finished.
      digests: whether its files were compared with their digests, or damage cannot be noticed.
    """

    path: Path
    manifest: Manifest
    metrics: tuple[MeasuredRound, ...] = ()
    telemetry: tuple[TelemetryRound, ...] = ()
    ledger: Ledger | None = None
    users: UserLedgers | None = None
    unknown: str = ""
    result: TrainingResult | None = None
    digests: Digests = NO_DIGESTS

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment, table by table."""
        return self.manifest.experiment

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def rounds(self) -> int:
        """How many rounds were released."""
        if self.result is not None:
            return self.result.rounds
        # The ledger on disk settles a round when the next is reserved; a round that is measured is released.
        measured = self.metrics[-1].round + 1 if self.metrics else 0
        return max(measured, self.ledger.rounds if self.ledger is not None else 0)

    @property
    def last(self) -> Measured:
        """What was last measured."""
        if self.result is not None and self.result.accuracy is not None:
            return self.result
        return self.metrics[-1] if self.metrics else Measured()

    def guarantee(self, devices_per_person: int = 1) -> Guarantee | None:
        """What the ledgers come to so far, what is reserved included; None before the first round.

        Args:
          devices_per_person: k: how many users one person may be, whom it then hides as a whole.
        """
        spent = Spent(folder=self.path, ledger=self.ledger, users=self.users, problem=self.unknown)
        if devices_per_person != 1:
            return guarantee_of_a_person(spent, self.manifest, devices_per_person)
        return spent.guarantee(self.manifest)

    def durability(self, threshold: float = 0.5) -> Durability:
        """The success of the attack in the rounds after the last of those it was given."""
        rounds = (self.experiment.get("attack") or {}).get("rounds")
        if not rounds:
            raise InvalidValue(
                f"durability needs attackers that leave: {self.path} has no rounds under [attack], so they "
                "never do"
            )
        measured = {
            each.round: each.attack_success for each in self.metrics if each.attack_success is not None
        }
        return Durability.of(measured, max(rounds), threshold)

    def table_rows(self) -> list[dict[str, Any]]:
        """What was measured, one row for each measured round; rounds are counted from 1."""
        return [each.to_json() | {"round": each.round + 1} for each in self.metrics]

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplicasRecord:
    """A run of ``fedward replicas`` or ``fedward certify``, finished or not.

    Attributes:
      path: its directory.
      manifest: what is run, as in ``run.json``.
      replicas: how many trainings of each variant are finished.
      result: accuracy of each variant over its replicas; None before the first end of the command.
      draw: the draw that they belong to, which is that of what is claimed; empty where nothing was.
      labels: the true classes of the test examples; None before the first block.
      trainings: what one training of each variant spends; empty in directories of older versions.
      certificates: what is certified about each variant, if anything is.
      certified: ``certified.json``: curves for each variant, or costs of an attack; None without it.
      digests: whether its files were compared with their digests, or damage cannot be noticed.
    """

    path: Path
    manifest: Manifest
    replicas: int = 0
    result: ReplicasResult | None = None
    draw: str = ""
    labels: NDArray[np.int64] | None = None
    trainings: dict[str, OneTraining] = field(default_factory=dict)
    certificates: dict[str, Certificate]
    certified: dict[str, Any] | None = None
    digests: Digests = NO_DIGESTS

    @property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The experiment of each variant."""
        return self.manifest.variants or {}

    @property
    def finished(self) -> bool:
        return self.result is not None

    def one_training(self, variant: str) -> Guarantee:
        """What one training of a variant guarantees if it alone is released; none where no ledger says it."""
        one = self.trainings.get(variant)
        if one is None and variant in self.certificates:
            one = training_of(self.certificates[variant].setting)
        if one is not None:
            return one.guarantee(self.manifest.all_caveats)
        return unknown_guarantee(f"{reason_unknown(self.path / 'ledgers.json')}; the same command writes it")

    def certified_accuracy(self, k: int, threat: str = "inject", variant: str | None = None) -> float:
        """The share of test examples that are predicted right and certified against k attackers.

        Args:
          k: how many; poisoned examples where examples are hidden.
          threat: ``inject`` (they join), ``present`` (they are there already), ``compromise`` (they are users
            that are taken over).
          variant: its name; not needed where there is only one.
        """
        whole("k", k, at_least=0)
        if variant is None and len(self.certificates) == 1:
            (variant,) = self.certificates
        if variant not in self.certificates:
            known = ", ".join(self.certificates) or "none, nothing is certified"
            raise InvalidValue(f"variant must be one of those certified ({known}), got {variant!r}")
        attacks = {attack.threat: attack for attack in self.certificates[variant].attacks}
        one_of("threat", threat, tuple(attacks))
        accuracy = attacks[threat].accuracy or ()  # type: ignore[index]  # checked above
        return accuracy[k] if k < len(accuracy) else 0.0

    def table_rows(self, table: ReplicasTable | None = None) -> list[dict[str, Any]]:
        """What is certified, one row for each variant, threat and k; or what was measured.

        Args:
          table: ``certified``, or ``measured`` with one row for each variant and measure: accuracy, and
            success and cost of attacks. Certified where there is a certificate, if it is not given.
        """
        if table is not None:
            one_of("table", table, get_args(ReplicasTable))
        if table == "certified" or (table is None and self.certificates):
            return [
                {"variant": name, **row}
                for name, certificate in self.certificates.items()
                for row in certificate.table_rows()
            ]
        found = self.result.variants if self.result is not None else {}
        return [
            {"variant": name, "measure": measure, **interval.to_json()}
            for name, values in found.items()
            for measure, interval in values.items()
        ]

    def to_pandas(self, table: ReplicasTable | None = None) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows(table))


Record = RunRecord | ReplicasRecord | InferenceRecord | AuditRecord


def load(path: str | os.PathLike[str]) -> Record:
    """Reads a run directory of ``fedward run``, ``replicas``, ``certify``, ``infer`` or ``audit``.

    Nothing is changed or locked; a run that is under way is read as far as it is. Every ε is computed from
    the run's ledgers, and a file that states another is refused; so is one that is not what its digest says.

    Args:
      path: the run directory.
    """
    folder = Path(path)
    if not (folder / "run.json").is_file():
        raise InvalidValue(f"{folder} is not a run directory: {_why_not(folder)}")
    try:
        manifest = RunDirectory(folder).manifest()
        record = _read(folder, manifest)
        # Last: whoever reads a file says more about what is wrong in it than its digest does.
        return replace(record, digests=RunDirectory(folder).require_shown_undamaged(manifest))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{folder} holds a file that is damaged and cannot be read: {error}") from error


def _read(folder: Path, manifest: Manifest) -> Record:
    if manifest.variants is not None:
        return _replicas(folder, manifest, manifest.variants)
    _require(folder, manifest.experiment, ("seed", "rounds", "data", "model", "algorithm"))
    _require(folder, manifest.to_json(), ("delta", "accountant"))
    if manifest.inference is not None:
        return read_inference(folder, manifest)
    if manifest.audit is not None:
        return read_audit(folder, manifest)
    return _run(folder, manifest)


def _run(folder: Path, manifest: Manifest) -> RunRecord:
    directory = RunDirectory(folder)
    result = directory.result()
    assert result is None or isinstance(result, TrainingResult)  # as its manifest says
    spent = directory.spent(manifest, finished=result is not None)
    return RunRecord(
        path=folder,
        manifest=manifest,
        metrics=tuple(directory.metrics()),
        telemetry=tuple(directory.telemetry()),
        ledger=spent.ledger,
        users=spent.users,
        unknown=spent.problem,
        result=result,
    )


def _replicas(folder: Path, manifest: Manifest, variants: dict[str, dict[str, Any]]) -> ReplicasRecord:
    if not variants:
        raise InvalidValue(f"{folder / 'run.json'} is damaged: it must name at least one variant, got none")
    for experiment in variants.values():
        _require(folder, experiment, ("seed", "rounds", "data", "model", "algorithm"))
    labels = folder / "labels.npz"
    trainings = read_ledgers(folder)
    certificates, certified = read_certified(folder, list(variants), trainings, manifest.all_caveats)
    result = RunDirectory(folder).result()
    assert result is None or isinstance(result, ReplicasResult)  # as its manifest says
    return ReplicasRecord(
        path=folder,
        manifest=manifest,
        replicas=count_finished(folder),
        result=result,
        draw=stored_draw(folder) or "",
        labels=read_array(labels, "labels") if labels.exists() else None,
        trainings=trainings,
        certificates=certificates,
        certified=certified,
    )


def _require(folder: Path, content: Any, keys: tuple[str, ...]) -> None:
    missing = [key for key in keys if not isinstance(content, dict) or key not in content]
    if missing:
        file = folder / "run.json"
        raise InvalidValue(f"{file} is damaged or not of a run: it does not say {missing[0]!r}")


def _why_not(folder: Path) -> str:
    if not folder.exists():
        return "there is nothing of that name; fedward runs lists those in runs/"
    if not folder.is_dir():
        return "it is a file; give the directory that a command has written, such as runs/NAME"
    if (folder / SWEPT).is_file():
        return (
            "it is of a sweep without sweep.json, or an arena without arena.json, which has not come to "
            "its end: the same command goes on"
        )
    below = sorted(each.parent.name for each in folder.glob("*/run.json"))
    if below:
        return f"it holds no run.json, but {len(below)} below it do: give {folder / below[0]}, for instance"
    return "it holds no run.json; fedward runs lists the runs in runs/, and --in DIR those elsewhere"
