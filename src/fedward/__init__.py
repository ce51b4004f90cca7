"""Differentially private federated learning under attack: train, attack, certify."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.argv[:1] == ["-m"] and "fedward" in sys.orig_argv:
    # `python -m fedward`: Ctrl-C has its short answer before anything large is imported.
    from fedward_command import answer_ctrl_c

    answer_ctrl_c()

from fedward.version import __version__

if TYPE_CHECKING:
    from fedward import attacks, datasets, models, presets
    from fedward.api import (
        CheckedCertificate,
        ReportRecord,
        arena,
        audit,
        calibrate,
        certify,
        check_certificate,
        epsilon,
        infer,
        load,
        merge,
        plan,
        pretrain,
        replicas,
        report,
        rounds,
        sweep,
        train,
    )
    from fedward.api.plan_api import PlanRecord
    from fedward.api.privacy_records import CalibrationRecord, EpsilonRecord
    from fedward.api.verify_api import new_key, sign, verify
    from fedward.api.weights_api import weights
    from fedward.backends import Compute, InProcess, Threads, Workers, measure
    from fedward.core.algorithm import Algorithm
    from fedward.core.examples import Examples, Ragged
    from fedward.core.federation import Federation
    from fedward.local import DPSGD, SGD, FullGradient
    from fedward.privacy import Budget, Guarantee, Ledger
    from fedward.rundir.arena_record import ArenaRecord
    from fedward.rundir.audit_record import AuditRecord
    from fedward.rundir.inference_record import InferenceRecord
    from fedward.rundir.run_record import ReplicasRecord, RunRecord
    from fedward.rundir.sweep_record import SweepRecord
    from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler, RandomAllocation
    from fedward.server import (
        ServerAdam,
        ServerAveraging,
        ServerMomentum,
        ServerProjection,
        ServerShrinkage,
        ServerStep,
    )

__all__ = [
    "DPSGD",
    "SGD",
    "Algorithm",
    "ArenaRecord",
    "AuditRecord",
    "Budget",
    "CalibrationRecord",
    "CheckedCertificate",
    "Compute",
    "EpsilonRecord",
    "EveryoneSampler",
    "Examples",
    "Federation",
    "FixedSizeSampler",
    "FullGradient",
    "Guarantee",
    "InProcess",
    "InferenceRecord",
    "Ledger",
    "PlanRecord",
    "PoissonSampler",
    "Ragged",
    "RandomAllocation",
    "ReplicasRecord",
    "ReportRecord",
    "RunRecord",
    "ServerAdam",
    "ServerAveraging",
    "ServerMomentum",
    "ServerProjection",
    "ServerShrinkage",
    "ServerStep",
    "SweepRecord",
    "Threads",
    "Workers",
    "__version__",
    "arena",
    "attacks",
    "audit",
    "calibrate",
    "certify",
    "check_certificate",
    "datasets",
    "epsilon",
    "infer",
    "load",
    "measure",
    "merge",
    "models",
    "new_key",
    "plan",
    "presets",
    "pretrain",
    "replicas",
    "report",
    "rounds",
    "sign",
    "sweep",
    "train",
    "verify",
    "weights",
]

# Where each name is, so that importing costs what is touched: most of them import torch.
_MODULES = {
    "Algorithm": "fedward.core.algorithm",
    "ArenaRecord": "fedward.rundir.arena_record",
    "AuditRecord": "fedward.rundir.audit_record",
    "Budget": "fedward.privacy",
    "CalibrationRecord": "fedward.api.privacy_records",
    "CheckedCertificate": "fedward.api",
    "Compute": "fedward.backends",
    "DPSGD": "fedward.local",
    "EpsilonRecord": "fedward.api.privacy_records",
    "EveryoneSampler": "fedward.sampling",
    "Examples": "fedward.core.examples",
    "Federation": "fedward.core.federation",
    "FixedSizeSampler": "fedward.sampling",
    "FullGradient": "fedward.local",
    "Guarantee": "fedward.privacy",
    "InProcess": "fedward.backends",
    "InferenceRecord": "fedward.rundir.inference_record",
    "Ledger": "fedward.privacy",
    "PlanRecord": "fedward.api.plan_api",
    "PoissonSampler": "fedward.sampling",
    "Ragged": "fedward.core.examples",
    "RandomAllocation": "fedward.sampling",
    "ReplicasRecord": "fedward.rundir.run_record",
    "ReportRecord": "fedward.api",
    "RunRecord": "fedward.rundir.run_record",
    "SGD": "fedward.local",
    "ServerAdam": "fedward.server",
    "ServerAveraging": "fedward.server",
    "ServerMomentum": "fedward.server",
    "ServerProjection": "fedward.server",
    "ServerShrinkage": "fedward.server",
    "ServerStep": "fedward.server",
    "SweepRecord": "fedward.rundir.sweep_record",
    "Threads": "fedward.backends",
    "Workers": "fedward.backends",
    "arena": "fedward.api",
    "audit": "fedward.api",
    "calibrate": "fedward.api",
    "certify": "fedward.api",
    "check_certificate": "fedward.api",
    "epsilon": "fedward.api",
    "infer": "fedward.api",
    "load": "fedward.api",
    "measure": "fedward.backends",
    "merge": "fedward.api",
    "new_key": "fedward.api.verify_api",
    "plan": "fedward.api",
    "pretrain": "fedward.api",
    "replicas": "fedward.api",
    "report": "fedward.api",
    "rounds": "fedward.api",
    "sign": "fedward.api.verify_api",
    "sweep": "fedward.api",
    "train": "fedward.api",
    "verify": "fedward.api.verify_api",
    "weights": "fedward.api.weights_api",
}
_ROOMS = ("attacks", "datasets", "models", "presets")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"fedward.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'fedward' has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
