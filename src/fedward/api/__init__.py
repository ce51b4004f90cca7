"""The Python interface to what the commands do: ``fedward.train``, ``certify``, ``plan`` and ``load``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedward.api.arena_api import arena
    from fedward.api.audit_api import audit
    from fedward.api.certify_api import certify
    from fedward.api.check_api import CheckedCertificate, check_certificate
    from fedward.api.infer_api import infer
    from fedward.api.load_api import load
    from fedward.api.merge_api import merge
    from fedward.api.plan_api import plan
    from fedward.api.pretrain_api import pretrain
    from fedward.api.privacy_api import calibrate, epsilon
    from fedward.api.replicas_api import replicas
    from fedward.api.report_api import ReportRecord, report
    from fedward.api.sweep_api import sweep
    from fedward.api.train_api import rounds, train

__all__ = [
    "CheckedCertificate",
    "ReportRecord",
    "arena",
    "audit",
    "calibrate",
    "certify",
    "check_certificate",
    "epsilon",
    "infer",
    "load",
    "merge",
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
    "CheckedCertificate": "fedward.api.check_api",
    "ReportRecord": "fedward.api.report_api",
    "arena": "fedward.api.arena_api",
    "audit": "fedward.api.audit_api",
    "calibrate": "fedward.api.privacy_api",
    "certify": "fedward.api.certify_api",
    "check_certificate": "fedward.api.check_api",
    "epsilon": "fedward.api.privacy_api",
    "infer": "fedward.api.infer_api",
    "load": "fedward.api.load_api",
    "merge": "fedward.api.merge_api",
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
