"""All values and Protocols of a round under one name, for parts, backends and readers."""

from __future__ import annotations

from fedward.core.adversary import Adversary, Knowledge, Sight
from fedward.core.mechanism import Cohorts, Mechanism, MechanismState, Sensitivity
from fedward.core.outside import Backend, Journal
from fedward.core.parts import (
    Aggregator,
    Bounds,
    ClipPolicy,
    LocalTrainer,
    Norm,
    PolicyState,
    PrivateTrainer,
    Sampler,
    Scheduled,
    ServerOptimizer,
    total_bound,
)
from fedward.core.values import Job, Plan, RoundLog, Row, ServerState, Telemetry

__all__ = [
    "Adversary",
    "Aggregator",
    "Backend",
    "Bounds",
    "ClipPolicy",
    "Cohorts",
    "Job",
    "Journal",
    "Knowledge",
    "LocalTrainer",
    "Mechanism",
    "MechanismState",
    "Norm",
    "Plan",
    "PolicyState",
    "PrivateTrainer",
    "RoundLog",
    "Row",
    "Sampler",
    "Scheduled",
    "Sensitivity",
    "ServerOptimizer",
    "ServerState",
    "Sight",
    "Telemetry",
    "total_bound",
]
