"""All values and Protocols of a round under one name, for parts, backends and readers."""

from __future__ import annotations

from fedward.core.adversary import Adversary, Knowledge, Sight
from fedward.core.grid import ExactMechanism, Grid
from fedward.core.mechanism import Cohorts, Mechanism, MechanismState, SchemaMechanism, Sensitivity
from fedward.core.outside import Backend, Journal
from fedward.core.parts import (
    Aggregator,
    Bounds,
    ClipPolicy,
    EpochSampler,
    LocalTrainer,
    Norm,
    PolicyState,
    PrivateTrainer,
    PublicServer,
    RoundSampler,
    Sampler,
    Scheduled,
    ScheduledSampler,
    ServerOptimizer,
    total_bound,
)
from fedward.core.values import Job, Plan, RoundLog, Row, ServerState, Telemetry
from fedward.core.watching import Memory, Watched, WatchingAggregator

__all__ = [
    "Adversary",
    "Aggregator",
    "Backend",
    "Bounds",
    "ClipPolicy",
    "Cohorts",
    "EpochSampler",
    "ExactMechanism",
    "Grid",
    "Job",
    "Journal",
    "Knowledge",
    "LocalTrainer",
    "Mechanism",
    "MechanismState",
    "Memory",
    "Norm",
    "Plan",
    "PolicyState",
    "PrivateTrainer",
    "PublicServer",
    "RoundLog",
    "RoundSampler",
    "Row",
    "Sampler",
    "Scheduled",
    "ScheduledSampler",
    "SchemaMechanism",
    "Sensitivity",
    "ServerOptimizer",
    "ServerState",
    "Sight",
    "Telemetry",
    "Watched",
    "WatchingAggregator",
    "total_bound",
]
