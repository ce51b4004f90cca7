"""The costs of an attack on the replicas of a run directory, and the bound that was fixed for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedward.base.arrays_file import read_array
from fedward.base.validate import InvalidValue
from fedward.rundir.replica_store import stored_files
from fedward.studies.training.setup import Setup


def costs_of_replicas(setup: Setup, path: Path, variant: str) -> NDArray[np.float64]:
    """min(C, C̄) of every replica of a variant; C is the mean loss over all triggered test examples."""
    bound = cost_bound(setup)
    goal = setup.attack.goal if setup.attack is not None else None
    if goal is None or not goal.triggered:
        raise InvalidValue("attack cost needs an attack with triggered test examples, got none")
    weights = np.array([len(examples) for _, examples in goal.triggered], dtype=np.float64)
    found = np.stack([_per_replica(path, f"{variant}/cost.{name}") for name, _ in goal.triggered])
    mean = (found * weights[:, None]).sum(axis=0) / weights.sum()
    # A cost that is no number is no small one.
    return np.where(np.isnan(mean), bound, np.minimum(mean, bound))


def _per_replica(path: Path, key: str) -> NDArray[np.float64]:
    return np.concatenate([read_array(file, key) for file in stored_files(path)])


def cost_bound(setup: Setup) -> float:
    """C̄ of an experiment."""
    section = setup.experiment.attack
    if section is None or section.cost_bound is None:
        raise InvalidValue(
            "attack cost needs a bound that is fixed beforehand: give cost_bound in the [attack] table"
        )
    return float(section.cost_bound)
