"""Differentially private federated learning under attack: train, attack, certify."""

from __future__ import annotations

import sys

if sys.argv[:1] == ["-m"] and "fedward" in sys.orig_argv:
    # `python -m fedward`: Ctrl-C has its short answer before anything large is imported.
    from fedward_command import answer_ctrl_c

    answer_ctrl_c()

from fedward import attacks, datasets, models, presets
from fedward.api import certify, load, train
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
from fedward.version import __version__

__all__ = [
    "DPSGD",
    "SGD",
    "Algorithm",
    "Budget",
    "Compute",
    "EveryoneSampler",
    "Examples",
    "Federation",
    "FixedSizeSampler",
    "FullGradient",
    "Guarantee",
    "InProcess",
    "InferenceRecord",
    "Ledger",
    "PoissonSampler",
    "Ragged",
    "ReplicasRecord",
    "RunRecord",
    "ServerAdam",
    "ServerMomentum",
    "ServerStep",
    "SweepRecord",
    "Threads",
    "Workers",
    "__version__",
    "attacks",
    "certify",
    "datasets",
    "load",
    "measure",
    "models",
    "presets",
    "train",
]
