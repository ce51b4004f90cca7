"""Backends, which run local trainings: in this process, in threads or in worker processes."""

from __future__ import annotations

from fedward.backends.attack_metrics import AttackMetrics, measure
from fedward.backends.compute import Compute
from fedward.backends.engines.evaluation import Metrics, evaluate
from fedward.backends.in_process import InProcess
from fedward.backends.processes.watchdog import Patience
from fedward.backends.processes.workers import Workers
from fedward.backends.threaded import Threads

__all__ = [
    "AttackMetrics",
    "Compute",
    "InProcess",
    "Metrics",
    "Patience",
    "Threads",
    "Workers",
    "evaluate",
    "measure",
]
