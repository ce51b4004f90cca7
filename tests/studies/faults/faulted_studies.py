"""Every study in its smallest form, to be carried out under faults."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial, partialmethod
from pathlib import Path
from typing import Any

import pytest

from config.tiny_sweep import CONTENT, sweep_of
from fedward.attacks.inference import MembershipInference, PropertyInference
from fedward.auditing.audit_question import AuditQuestion
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.certificates.claims import Claims
from fedward.config import pretraining_file
from fedward.config.experiment import from_content
from fedward.config.vary import Axis, variants
from fedward.rundir.part_record import PartRecord
from fedward.studies.audit.audit_study import AuditStudy, plan_audit
from fedward.studies.certification.certification_study import Certification, plan_certification
from fedward.studies.inference import attacked_trainings
from fedward.studies.inference.membership_study import MembershipRun, prepare_membership
from fedward.studies.inference.property_study import PropertyRun, prepare_property
from fedward.studies.pretraining import pretraining_study
from fedward.studies.replicas.replica_study import ReplicaRun, ReplicaStudy, prepare_variants
from fedward.studies.study import Watch, carry_out
from fedward.studies.sweep.sweep_study import SweepStudy, plan_sweep
from fedward.studies.training.training_study import TrainingStudy, prepare
from studies.faults.checked_certificate import DECLARED, CheckedCertificate
from studies.faults.merged_studies import MergedStudy
from studies.self_protected_runs import DP_SGD, INSDP
from tiny_experiment import changed

LEDGER = "out/ledger.json"
AXES = [Axis(key="algorithm.noise_multiplier", values=(1.0, 3.0))]
EVERYONE = changed(CONTENT, algorithm__sampler={"name": "everyone"})
WEIGHTS: dict[str, Any] = {
    "seed": 1,
    "epochs": 3,
    "data": CONTENT["data"],
    "model": {"name": "mlp"},
    "training": {"learning_rate": 0.1, "batch_size": 12, "momentum": 0.5},
}


@dataclass(frozen=True, kw_only=True)
class FaultedStudy:
    """A study, and the name of what it writes; ``make`` makes it ready for each session.

    ``repeatable`` says whether it comes to the same bits every time: with system entropy it does not.
    ``reserves`` names the ledger that must have charged a round before any of its jobs runs.
    ``starts_again`` says whether it trains again after its end.
    """

    make: Callable[[], Any]
    name: str = "out"
    repeatable: bool = True
    reserves: str = ""
    starts_again: bool = False

    def prepare(self) -> None:
        """Loads and checks what it needs, once a process."""
        self.make()

    def carry_out(self, root: Path, watch: Watch, compute: Compute = IN_PROCESS) -> None:
        """Begins it or goes on with it, as a command does."""
        carry_out(self.make(), root / self.name, compute, watch)


def _replicas(part: str | None = None, *, save_space: bool = False) -> ReplicaStudy:
    made = {name: from_content(each) for name, each in variants(CONTENT, AXES).items()}
    span = None if part is None else PartRecord.parse(part, 3)
    prepared = prepare_variants(made)
    wanted = ReplicaRun(variants=prepared, replicas=3, block=2, save_space=save_space, part=span)
    return ReplicaStudy(wanted=wanted)


def _attacked_training() -> TrainingStudy:
    attack = {"who": {"name": "random", "count": 2}, "data": [{"name": "label_flip", "target": 0}]}
    return TrainingStudy(setup=prepare(from_content(changed(CONTENT, attack=attack, rounds=3))))


def _unrepeatable_training() -> TrainingStudy:
    content = changed(CONTENT, algorithm__noise_source="system", rounds=3)
    return TrainingStudy(setup=prepare(from_content(content)))


def _self_protected_training() -> TrainingStudy:
    protected = INSDP | {"local": DP_SGD | {"expected_batch": 0.6}}
    return TrainingStudy(setup=prepare(from_content(CONTENT | {"algorithm": protected})))


def _certification() -> Certification:
    return plan_certification(DECLARED, "file.toml", Claims(replicas=3, score="vote"), block=2)


def _sweep(part: str | None = None) -> SweepStudy:
    axes = {"seeds": 2, "algorithm.noise_multiplier": [0.5, 2.0]}
    return plan_sweep(sweep_of(axes), range=part)


def _membership() -> MembershipRun:
    question = MembershipInference(unit="user", targets=1, shadows=4)
    return prepare_membership(from_content(changed(EVERYONE, data__users=20)), question)


def _property() -> PropertyRun:
    experiment = from_content(changed(EVERYONE, rounds=12))
    return prepare_property(experiment, PropertyInference(features=5), "label:0", users=3)


def _audit(question: AuditQuestion) -> AuditStudy:
    return plan_audit(from_content(DECLARED), question)


def _pretraining() -> pretraining_study.Pretraining:
    return pretraining_study.prepare(pretraining_file.from_content(WEIGHTS))


AnyStudy = FaultedStudy | MergedStudy | CheckedCertificate

# Studies are values, made ready once a process; but a pre-training leaves its model trained.
STUDIES: dict[str, AnyStudy] = {
    "training": FaultedStudy(make=cache(_attacked_training), reserves=LEDGER),
    "training, users protect themselves": FaultedStudy(make=cache(_self_protected_training), reserves=LEDGER),
    "training, system entropy": FaultedStudy(
        make=cache(_unrepeatable_training), repeatable=False, reserves=LEDGER
    ),
    "replicas": FaultedStudy(make=cache(_replicas)),
    "replicas, saving space": FaultedStudy(make=cache(partial(_replicas, save_space=True))),
    "certification": FaultedStudy(make=cache(_certification)),
    "sweep": FaultedStudy(make=cache(_sweep)),
    "membership": FaultedStudy(make=cache(_membership)),
    "property": FaultedStudy(make=cache(_property)),
    "pre-training": FaultedStudy(make=_pretraining, name="weights.pt"),
    "audit, many trainings": FaultedStudy(make=cache(partial(_audit, AuditQuestion(runs=100)))),
    "audit, one training": FaultedStudy(
        make=cache(partial(_audit, AuditQuestion(mode="one-run", canaries=10)))
    ),
}
LATER: dict[str, AnyStudy] = {
    "replicas in parts, merged": MergedStudy(make=cache(_replicas), parts=("0:1", "1:3")),
    "sweep in parts, merged": MergedStudy(make=cache(_sweep), parts=("0:3", "3:4")),
    "certificate check": CheckedCertificate(),
}
"""Those that came later: the seeds that have found something still mean the same."""

ALL = STUDIES | LATER


@contextlib.contextmanager
def small_steps() -> Iterator[None]:
    """Within it whatever is stored every few seconds is stored at every step, and parts are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attacked_trainings, "SAVE_EVERY", -1.0)
        patch.setattr(pretraining_study, "_PART", 24)
        steps = partialmethod(pretraining_study.Pretraining.steps, seconds=-1.0)
        patch.setattr(pretraining_study.Pretraining, "steps", steps)
        yield
