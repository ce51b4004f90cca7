"""Conformance checks that anybody can run on parts of their own: one for each kind of part.

Each raises a ``ConformanceError`` at the first promise of that kind that the part breaks, and otherwise
returns a ``Conformance``: the promises that it keeps, and those that do not apply to it, with the reason.

>>> from fedward.sampling import PoissonSampler
>>> check_sampler(PoissonSampler(rate=0.1)).passed[:2]
('is a frozen value', 'equals its copies')
"""

from __future__ import annotations

from fedward.testing.aggregator_conformance import check_aggregator, check_rule
from fedward.testing.attack_conformance import check_attack
from fedward.testing.backend_conformance import check_backend
from fedward.testing.conformance import Conformance, ConformanceError, Skipped
from fedward.testing.dataset_conformance import check_dataset
from fedward.testing.mechanism_conformance import check_mechanism
from fedward.testing.model_conformance import check_model
from fedward.testing.norm_conformance import check_norm
from fedward.testing.policy_conformance import check_clip_policy
from fedward.testing.preset_conformance import check_preset
from fedward.testing.sampler_conformance import check_sampler
from fedward.testing.server_conformance import check_server
from fedward.testing.trainer_conformance import check_local_trainer
from fedward.testing.trigger_conformance import check_feature, check_pattern

__all__ = [
    "Conformance",
    "ConformanceError",
    "Skipped",
    "check_aggregator",
    "check_attack",
    "check_backend",
    "check_clip_policy",
    "check_dataset",
    "check_feature",
    "check_local_trainer",
    "check_mechanism",
    "check_model",
    "check_norm",
    "check_pattern",
    "check_preset",
    "check_rule",
    "check_sampler",
    "check_server",
]
