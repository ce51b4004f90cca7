"""The robust rules by their definitions, in exact fractions and plain loops, and rows to try them on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation import AllRows, Rule

Rows = list[list[Fraction]]


def exact(rows: Sequence[Tensor]) -> Rows:
    return [[Fraction(value) for value in row.tolist()] for row in rows]


def combined(rule: Rule, rows: Sequence[Tensor]) -> Tensor:
    """What the rule makes of the rows, as a round would call it; it must leave them alone."""
    before = [row.clone() for row in rows]
    aggregator = AllRows(rule=rule)
    total = aggregator.init(torch.zeros_like(rows[0]))
    for row in rows:
        total = aggregator.add(total, row, 5)
    result = aggregator.finish(total)
    assert all(torch.equal(a, b) for a, b in zip(rows, before, strict=True))
    assert result.dtype == torch.float64
    assert result.shape == rows[0].shape
    return result


def krum_score(rows: Rows, i: int, neighbours: int) -> Fraction:
    distances = [squared_distance(rows[i], rows[j]) for j in range(len(rows)) if j != i]
    return sum(sorted(distances)[:neighbours], Fraction(0))


def squared_distance(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))


def krum_order(rows: Rows, malicious: int) -> list[int]:
    """The rows from the best score to the worst; Python's sort keeps equal ones in their order."""
    neighbours = len(rows) - malicious - 2
    return sorted(range(len(rows)), key=lambda i: krum_score(rows, i, neighbours))


def median(values: list[Fraction]) -> Fraction:
    values = sorted(values)
    n = len(values)
    return values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def bulyan(rows: Rows, malicious: int) -> list[Fraction]:
    left = list(rows)
    picked: Rows = []
    for _ in range(len(rows) - 2 * malicious):
        neighbours = max(1, len(left) - malicious - 2)
        scores = [krum_score(left, i, neighbours) for i in range(len(left))]
        picked.append(left.pop(scores.index(min(scores))))
    result = []
    for column in zip(*picked, strict=True):
        centre = median(list(column))
        nearest = sorted(column, key=lambda value: (abs(value - centre), value))
        result.append(mean(nearest[: len(picked) - 2 * malicious]))
    return result


def tensor(values: Sequence[Fraction]) -> Tensor:
    return torch.tensor([float(value) for value in values], dtype=torch.float64)


KINDS = ("normal", "ties", "duplicates", "all equal", "collinear", "huge", "two clusters")


def some_rows(kind: str, n: int, d: int, seed: int) -> list[Tensor]:
    """n float32 rows of d values. Ties are exact: whole numbers whose squares are, too."""
    rng = np.random.default_rng([KINDS.index(kind), n, d, seed])
    rows: np.ndarray[Any, Any]
    if kind == "normal":
        rows = rng.normal(size=(n, d))
    elif kind == "ties":
        rows = rng.integers(-2, 3, size=(n, d))
    elif kind == "duplicates":
        rows = rng.normal(size=(max(1, n // 3), d))[rng.integers(0, max(1, n // 3), size=n)]
    elif kind == "all equal":
        rows = np.repeat(rng.normal(size=(1, d)), n, axis=0)
    elif kind == "collinear":
        rows = rng.integers(-4, 5, size=(n, 1)) * rng.integers(1, 4, size=(1, d))
    elif kind == "huge":
        # One in five: few enough that every other row has neighbours of its own size to be judged by.
        rows = rng.normal(size=(n, d)) * np.where(rng.permutation(n) < n // 5, 1e30, 1.0)[:, None]
    else:
        rows = rng.normal(size=(n, d)) + 100.0 * (rng.random(size=(n, 1)) < 0.4)
    return list(torch.from_numpy(rows.astype(np.float32)))
