"""A caveat on initial weights from a file: a run's guarantee does not cover the data behind them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.sections import PartSection
from fedward.core.digest import data_digest
from fedward.core.federation import Federation
from fedward.models.initial_weights import InitialWeights
from fedward.privacy.caveats import WEIGHTS
from fedward.rundir.manifest import NOT_COVERED
from fedward.rundir.store import RunDirectory

# What tells data sets of one name apart: whoever reads other files has other data.
_FILES = ("file", "folder")
# Drawn from a seed: only examples that are equal are the same.
_DRAWN = ("synthetic",)


def caveat(weights: InitialWeights, section: PartSection, federation: Federation) -> str:
    """What somebody who reads the ε of a training from these weights must know.

    Args:
      weights: what the training starts from.
      section: the table ``[data]`` of the training.
      federation: what it loaded.
    """
    file = " ".join(weights.file.splitlines())
    theirs = weights.data if weights.data is not None else _data_of_run(Path(weights.file))
    if theirs is None or not _same_data_set(theirs, section, federation):
        return f"{WEIGHTS} {file} {NOT_COVERED}"
    return (
        f"{WEIGHTS} {file} were trained on the same data set, {section.part}: their training "
        "spends too, and is not counted"
    )


def _data_of_run(file: Path) -> Mapping[str, Any] | None:
    """What the run was trained on whose ``model.pt`` this is; None if it is not in its directory any more."""
    if file.name != "model.pt":
        return None
    try:
        manifest = RunDirectory(file.parent).manifest()
    except (InvalidValue, OSError):  # damaged, or of somebody else: then nothing is known of its data
        return None
    table = manifest.experiment.get("data")
    return {**table, "digest": manifest.data.digest} if isinstance(table, dict) else None


def _same_data_set(theirs: Mapping[str, Any], section: PartSection, federation: Federation) -> bool:
    """Other users, or another split, of the same examples are the same data set."""
    named = theirs.get("name") == section.part and section.part not in _DRAWN
    if named and all(theirs.get(key) == getattr(section, key, None) for key in _FILES):
        return True
    return theirs.get("digest") == data_digest(federation)
