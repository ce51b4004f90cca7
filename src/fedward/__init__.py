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
        ReportRecord,
        calibrate,
        certify,
        epsilon,
        infer,
        load,
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
    from fedward.backends import Compute, InProcess, Threads, Workers, measure
    from fedward.core.algorithm import Algorithm
    from fedward.core.examples import Examples, Ragged
    from fedward.core.federation import Federation
    from fedward.local import DPSGD, SGD, FullGradient
    from fedward.privacy import Budget, Guarantee, Ledger
    from fedward.rundir.inference_record import InferenceRecord
    from fedward.rundir.run_record import ReplicasRecord, RunRecord
    from fedward.rundir.sweep_record import SweepRecord
    from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
    from fedward.server import ServerAdam, ServerMomentum, ServerStep

__all__ = [
    "DPSGD",
    "SGD",
    "Algorithm",
    "Budget",
    "CalibrationRecord",
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
    "ReplicasRecord",
    "ReportRecord",
    "RunRecord",
    "ServerAdam",
    "ServerMomentum",
    "ServerStep",
    "SweepRecord",
    "Threads",
    "Workers",
    "__version__",
    "attacks",
    "calibrate",
    "certify",
    "datasets",
    "epsilon",
    "infer",
    "load",
    "measure",
    "models",
    "plan",
    "presets",
    "pretrain",
    "replicas",
    "report",
    "rounds",
    "sweep",
    "train",
]

# Where each name is, so that importing costs what is touched: most of them import torch.
_MODULES = {
    "Algorithm": "fedward.core.algorithm",
    "Budget": "fedward.privacy",
    "CalibrationRecord": "fedward.api.privacy_records",
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
    "ReplicasRecord": "fedward.rundir.run_record",
    "ReportRecord": "fedward.api",
    "RunRecord": "fedward.rundir.run_record",
    "SGD": "fedward.local",
    "ServerAdam": "fedward.server",
    "ServerMomentum": "fedward.server",
    "ServerStep": "fedward.server",
    "SweepRecord": "fedward.rundir.sweep_record",
    "Threads": "fedward.backends",
    "Workers": "fedward.backends",
    "calibrate": "fedward.api",
    "certify": "fedward.api",
    "epsilon": "fedward.api",
    "infer": "fedward.api",
    "load": "fedward.api",
    "measure": "fedward.backends",
    "plan": "fedward.api",
    "pretrain": "fedward.api",
    "replicas": "fedward.api",
    "report": "fedward.api",
    "rounds": "fedward.api",
    "sweep": "fedward.api",
    "train": "fedward.api",
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
