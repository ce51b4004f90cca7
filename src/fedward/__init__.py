"""Differentially private federated learning under attack: train, attack, certify."""

from __future__ import annotations

from fedward import attacks, datasets, models, presets
from fedward.api import train
from fedward.backends import InProcess, Threads, Workers, measure
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.experiment.run_record import load
from fedward.local import DPSGD, SGD, FullGradient
from fedward.privacy import Budget, Guarantee, Ledger
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from fedward.server import ServerAdam, ServerMomentum, ServerStep
from fedward.version import __version__

__all__ = [
    "DPSGD",
    "SGD",
    "Algorithm",
    "Budget",
    "EveryoneSampler",
    "Examples",
    "Federation",
    "FixedSizeSampler",
    "FullGradient",
    "Guarantee",
    "InProcess",
    "Ledger",
    "PoissonSampler",
    "Ragged",
    "ServerAdam",
    "ServerMomentum",
    "ServerStep",
    "Threads",
    "Workers",
    "__version__",
    "attacks",
    "datasets",
    "load",
    "measure",
    "models",
    "presets",
    "train",
]
