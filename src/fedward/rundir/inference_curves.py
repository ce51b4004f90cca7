"""ROC curves of inference attacks on disk, beside the most that privacy allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fedward.attacks.inference import Limit, Roc
from fedward.attacks.inference.auc import Floats
from fedward.base.arrays_file import check_arrays, read_arrays, write_arrays
from fedward.base.validate import InvalidValue

NAME = "curves.npz"
# Dense where false positives are few: that is where attacks are compared.
_RATES = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 121), np.linspace(0.0, 1.0, 101)]))

Curve = tuple[Floats, Floats]
"""False positive rates, from 0 to 1, and the true positive rate at each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """The curve of each attack, and the limit; None where nothing is promised."""

    attacks: dict[str, Curve] = field(default_factory=dict)
    limit: Curve | None = None


def write_curves(directory: Path, attacks: Mapping[str, Roc], limit: Limit) -> None:
    """Stores them in a run directory."""
    arrays = {f"{name}/fpr": roc.fpr for name, roc in attacks.items()}
    arrays |= {f"{name}/tpr": roc.tpr for name, roc in attacks.items()}
    if limit.promised:
        arrays |= {"/fpr": _RATES, "/tpr": limit.most(_RATES)}
    write_arrays(directory / NAME, arrays)


def read_curves(directory: Path) -> Curves:
    """What ``write_curves`` stored; nothing if it never did."""
    file = directory / NAME
    if not file.exists():
        return Curves()
    check_arrays(file)
    arrays = read_arrays(file)
    found: dict[str, Curve] = {}
    for key in arrays:
        name, _, which = key.rpartition("/")
        if which != "fpr":
            continue
        fpr, tpr = arrays[key], arrays.get(f"{name}/tpr")
        if tpr is None or fpr.ndim != 1 or fpr.shape != tpr.shape or not len(fpr):
            raise InvalidValue(f"{file} is damaged: it must hold pairs of rates for {name or 'the limit'}")
        found[name] = (fpr, tpr)
    limit = found.pop("", None)
    return Curves(attacks=found, limit=limit)
