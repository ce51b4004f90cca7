"""The promise of an aggregator that matters most: no user moves it further than it declares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from fedward.clipping.norms import FlatNorm, l2_norm
from fedward.core.types import Aggregator
from fedward.privacy.events import ADJACENCIES, Adjacency
from fedward.testing.conformance import Promise, broken, not_applicable
from fedward.testing.small_world import random_rows

_BOUNDS = (0.5, 3.0)
_ROUNDING = 1e-6
_REACHED = 0.99
Rows = list[tuple[Tensor, int]]


def _scales(aggregator: Aggregator) -> None:
    for adjacency in _proven(aggregator):
        one, two = (aggregator.sensitivity(bound, adjacency) for bound in (1.0, 2.0))
        if one is None or two is None or not math.isclose(two, 2 * one, rel_tol=1e-9):
            broken(
                f"sensitivity for {adjacency} is {one} for a bound of 1 and {two} for a bound of 2",
                "Return a multiple of the bound: noise is scaled by sensitivity(1.0) times the bound",
            )


def _respects(aggregator: Aggregator) -> None:
    for adjacency, bound in itertools.product(_proven(aggregator), _BOUNDS):
        declared = _declared(aggregator, bound, adjacency)
        for what, before, after in _neighbours(bound, adjacency):
            moved = _distance(aggregator, before, after)
            if not moved <= declared * (1 + _ROUNDING):
                broken(
                    f"{what} moved the result by {moved:.6g}, and sensitivity({bound}, {adjacency!r}) is "
                    f"{declared:.6g}",
                    "Prove a larger sensitivity, or return None: then there is no ε. A mean must divide by a "
                    "declared constant, not by the rows that came or by the examples that users report",
                )


def _reaches(aggregator: Aggregator) -> None:
    for adjacency in _proven(aggregator):
        declared = _declared(aggregator, 1.0, adjacency)
        most = max(_distance(aggregator, a, b) for _, a, b in _neighbours(1.0, adjacency))
        if most < _REACHED * declared:
            not_applicable(
                f"sensitivity(1.0, {adjacency!r}) is {declared:.6g} and no user tried here moved "
                "the result by "
                f"more than {most:.6g}; that is sound, and if the smaller number can be proven "
                "less noise will do"
            )


def _never_waits(aggregator: Aggregator) -> None:
    _proven(aggregator)
    if aggregator.least_rows != 0 or not aggregator.missing_as_zero:
        broken(
            f"it has a sensitivity, but least_rows is {aggregator.least_rows} and missing_as_zero is "
            f"{aggregator.missing_as_zero}",
            "A rule that keeps the model when few users came tells how many came, and no noise hides that: "
            "set least_rows = 0 and missing_as_zero = True, or return None as sensitivity",
        )


def _proven(aggregator: Aggregator) -> list[Adjacency]:
    """The adjacencies that it has a sensitivity for; ends the check where there is none."""
    proven: list[Adjacency] = [
        adjacency  # type: ignore[misc]
        for adjacency in ADJACENCIES
        if aggregator.sensitivity(1.0, adjacency) is not None  # type: ignore[arg-type]
    ]
    if not proven:
        not_applicable("it declares no sensitivity, so it has no ε to protect")
    return proven


def _declared(aggregator: Aggregator, bound: float, adjacency: Adjacency) -> float:
    declared = aggregator.sensitivity(bound, adjacency)
    if declared is None:
        broken(f"sensitivity({bound}, {adjacency!r}) is None", "Return a number for every bound or for none")
    return declared


def _neighbours(bound: float, adjacency: Adjacency) -> Iterator[tuple[str, Rows, Rows]]:
    """Cohorts that differ in one user: random ones, and those made to move a result as far as can be."""
    for number, (name, others) in itertools.product(range(6), _others(bound).items()):
        mine, theirs = _extreme(bound, number)
        with_me = [*others, mine]
        if adjacency == "add/remove":
            yield f"one user more beside {name}", others, with_me
        elif adjacency == "zero-out":
            yield f"one user zeroed beside {name}", with_me, [*others, (0 * mine[0], mine[1])]
        else:
            yield f"one user replaced beside {name}", with_me, [*others, theirs]


def _others(bound: float) -> dict[str, Rows]:
    size, along = 4, torch.eye(4)[0] * bound
    return {
        "nobody": [],
        "one user": [(along, 5)],
        "ten equal users": [(along, 5)] * 10,
        "ten opposite users": [(along * (-1) ** i, 5) for i in range(10)],
        "ten users of zero": [(0 * along, 5)] * 10,
        "thirty random users": [
            (_clipped(row, bound), 1 + 10 * i) for i, row in enumerate(random_rows(30, size, 7))
        ],
        "users with a million examples": [(along, 10**6)] * 3,
    }


def _extreme(bound: float, number: int) -> tuple[tuple[Tensor, int], tuple[Tensor, int]]:
    """A row as long as it may be, and the one opposite to it; reported examples differ too."""
    if number < 2:
        row = torch.eye(4)[0] * bound * (1 - 2 * number)
    elif number == 2:
        row = torch.full((4,), bound / 2)
    else:
        row = _clipped(1e6 * random_rows(6, 4, 11)[number], bound)
    examples = (1, 5, 10**6)[number % 3]
    return (row, examples), (-row, 10**6 if examples == 1 else 1)


def _clipped(row: Tensor, bound: float) -> Tensor:
    return FlatNorm().clip(row, (l2_norm(row),), (bound,))


def _distance(aggregator: Aggregator, before: Rows, after: Rows) -> float:
    results = []
    for rows in (before, after):
        total = aggregator.init(torch.zeros(4))
        for row, examples in rows:
            total = aggregator.add(total, row.clone(), examples)
        results.append(aggregator.finish(total).double())
    return l2_norm(results[0] - results[1])


SENSITIVITY_PROMISES: tuple[Promise[Aggregator], ...] = (
    Promise(says="has a sensitivity in proportion to the bound", check=_scales),
    Promise(says="is moved by one user no further than its sensitivity", check=_respects),
    Promise(says="reaches its sensitivity", check=_reaches),
    Promise(says="never waits for rows where it pays for privacy", check=_never_waits),
)
"""What an aggregator with a sensitivity promises besides."""
