"""Running sums over replicas, in place of what every one of them says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedward.base.arrays_file import Arrays
from fedward.certificates.tally import votes_of


def add_block(before: Arrays | None, arrays: Arrays, replicas: int) -> Arrays:
    """Running sums with another block: scores are summed, what is one number a replica is appended.

    The sums of confidences, of their squares, and of votes; votes of one example may be fewer than replicas,
    as a model without an opinion has none. The sums of ``before`` are added to in place.
    """
    sums: Arrays = {"replicas": np.array(replicas)}
    for name, array in arrays.items():
        if name.endswith("/scores"):
            sums |= _sum(before, name.removesuffix("/scores"), array)
        elif array.ndim:
            sums[name] = np.concatenate([before[name], array]) if before else array
        else:
            sums[name] = before[name] + array if before else array
    return sums


def _sum(before: Arrays | None, variant: str, scores: NDArray[np.float32]) -> Arrays:
    kinds = {"sum": np.float64, "squares": np.float64, "votes": np.int64}
    parts: Arrays = {
        part: before[f"{variant}/{part}"] if before else np.zeros(scores.shape[1:], dtype=kind)
        for part, kind in kinds.items()
    }
    # One replica after the other: the same sums whatever the blocks were, and no copy of a whole block.
    for each in scores:
        exact = each.astype(np.float64)
        parts["sum"] += exact
        parts["squares"] += exact**2
    parts["votes"] += votes_of(scores)
    return {f"{variant}/{part}": array for part, array in parts.items()}
