"""Certificates: how many attackers a private model provably survives."""

from __future__ import annotations

from fedward.certificates.attack_cost import attackers_needed, cost_bounds
from fedward.certificates.prediction import certified_k, transport
from fedward.certificates.threat import ThreatModel, certifiable, certifiable_algorithm

__all__ = [
    "ThreatModel",
    "attackers_needed",
    "certifiable",
    "certifiable_algorithm",
    "certified_k",
    "cost_bounds",
    "transport",
]
