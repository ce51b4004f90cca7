"""The Python interface to what the commands do: ``fedward.train``, ``certify``, ``plan`` and ``load``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedward.api.certify_api import certify
    from fedward.api.infer_api import infer
    from fedward.api.load_api import load
    from fedward.api.plan_api import plan
    from fedward.api.pretrain_api import pretrain
    from fedward.api.privacy_api import calibrate, epsilon
    from fedward.api.replicas_api import replicas
    from fedward.api.report_api import ReportRecord, report
    from fedward.api.sweep_api import sweep
    from fedward.api.train_api import rounds, train

__all__ = [
    "ReportRecord",
    "calibrate",
    "certify",
    "epsilon",
    "infer",
    "load",
    "plan",
    "pretrain",
    "replicas",
    "report",
    "rounds",
    "sweep",
    "train",
]

# Where each name is, so that what needs no torch imports none.
_MODULES = {
    "ReportRecord": "fedward.api.report_api",
    "calibrate": "fedward.api.privacy_api",
    "certify": "fedward.api.certify_api",
    "epsilon": "fedward.api.privacy_api",
    "infer": "fedward.api.infer_api",
    "load": "fedward.api.load_api",
    "plan": "fedward.api.plan_api",
    "pretrain": "fedward.api.pretrain_api",
    "replicas": "fedward.api.replicas_api",
    "report": "fedward.api.report_api",
    "rounds": "fedward.api.train_api",
    "sweep": "fedward.api.sweep_api",
    "train": "fedward.api.train_api",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'fedward.api' has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found
