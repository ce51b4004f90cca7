"""The promises of an aggregator, and of a robust rule for ``AllRows``."""

from __future__ import annotations

import copy
import math
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from fedward.aggregation import AllRows, Rule
from fedward.core.types import Aggregator
from fedward.privacy.events import ADJACENCIES
from fedward.testing.aggregator_sensitivity import SENSITIVITY_PROMISES
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, promises_of
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, require_repeatable, same_bits
from fedward.testing.small_world import cohorts_of_rows, random_rows

_SIZE = 4


def check_aggregator(aggregator: Aggregator | Rule) -> Conformance:
    """Runs every promise of ``fedward.core.types.Aggregator``, or of ``fedward.aggregation.Rule``."""
    if callable(getattr(aggregator, "combine", None)) and not callable(getattr(aggregator, "add", None)):
        return check_rule(cast(Rule, aggregator))
    promises = (*VALUE_PROMISES, *_PROMISES, *SENSITIVITY_PROMISES)
    return check_promises("aggregator", cast(Aggregator, aggregator), promises)


def check_rule(rule: Rule) -> Conformance:
    """Runs every promise of a rule that combines all rows of a round at once."""
    inside = promises_of(_as_aggregator, _PROMISES)
    return check_promises("robust rule", rule, (*VALUE_PROMISES, *_RULE_PROMISES, *inside))


def _as_aggregator(rule: Rule) -> Aggregator:
    return AllRows(rule=rule)


def _total(aggregator: Aggregator, rows: list[Tensor]) -> Any:
    total = aggregator.init(torch.zeros(_SIZE))
    for row in rows:
        total = aggregator.add(total, row, 5)
    return total


def _result(aggregator: Aggregator, rows: list[Tensor]) -> Tensor:
    return aggregator.finish(_total(aggregator, rows))


def _cohorts(aggregator: Aggregator) -> dict[str, list[Tensor]]:
    """The cohorts that are large enough: with fewer rows a round keeps the model and never asks."""
    enough = max(23, 2 * aggregator.least_rows)
    cohorts = cohorts_of_rows(_SIZE) | {"as many rows as it wants": random_rows(enough, _SIZE, 2)}
    return {name: rows for name, rows in cohorts.items() if len(rows) >= aggregator.least_rows}


def _declares_itself(aggregator: Aggregator) -> None:
    for name, value in (
        ("needs_all_rows", aggregator.needs_all_rows),
        ("missing_as_zero", aggregator.missing_as_zero),
    ):
        if not isinstance(value, bool):
            broken(f"{name} is {value!r}", "Say True or False")
    least, divisor = aggregator.least_rows, aggregator.divisor
    if isinstance(least, bool) or not isinstance(least, int) or least < 0:
        broken(f"least_rows is {least!r}", "Return the fewest rows that it can combine, a whole number")
    if divisor is not None and not 0 < divisor < math.inf:
        broken(f"divisor is {divisor!r}", "Return the positive constant that sums are divided by, or None")
    for adjacency in ADJACENCIES:
        one = aggregator.sensitivity(1.0, adjacency)  # type: ignore[arg-type]
        if one is not None and not 0 < one < math.inf:
            broken(
                f"sensitivity(1.0, {adjacency!r}) is {one!r}",
                "Return a positive number, or None without a proof",
            )


def _takes_any_cohort(aggregator: Aggregator) -> None:
    for name, rows in _cohorts(aggregator).items():
        result = _result(aggregator, rows)
        if not isinstance(result, Tensor) or result.shape != (_SIZE,):
            broken(
                f"finish gave {in_short(result)} for {name}",
                f"Return a vector of shape ({_SIZE},), as rows are",
            )
        if not bool(torch.isfinite(result).all()):
            broken(
                f"finish gave {in_short(result)} for {name}",
                "Add up in double precision, in which no sum of float32 overflows",
            )


def _repeats_itself(aggregator: Aggregator) -> None:
    for rows in _cohorts(aggregator).values():
        require_repeatable(partial(_result, aggregator, rows), "add or finish", rows)


def _holds_no_row(aggregator: Aggregator) -> None:
    (*_, rows) = _cohorts(aggregator).values()
    wanted = _result(aggregator, rows)
    lent = [row.clone() for row in rows]
    total = aggregator.init(torch.zeros(_SIZE))
    for row in lent:
        total = aggregator.add(total, row, 5)
        row.fill_(7.0)
    result = aggregator.finish(total)
    if not same_bits(result, wanted):
        broken(
            f"writing to rows after add changed the result from {in_short(wanted)} to {in_short(result)}",
            "Let add keep row.clone(): the memory of a row is used again for later ones",
        )


def _keeps_totals_apart(aggregator: Aggregator) -> None:
    """Rounds of many trainings go on side by side, in pieces of any size."""
    (*_, rows) = _cohorts(aggregator).values()
    others = [2 * row + 1 for row in rows]
    wanted = [_result(aggregator, each) for each in (rows, others)]
    for pieces in (1, 2, 5):
        totals = [aggregator.init(torch.zeros(_SIZE)) for _ in range(2)]
        for start in range(0, len(rows), pieces):
            for place, each in enumerate((rows, others)):
                for row in each[start : start + pieces]:
                    totals[place] = aggregator.add(totals[place], row, 5)
            totals = copy.deepcopy(totals)
        results = [aggregator.finish(total) for total in totals]
        if not same_bits(results, wanted):
            broken(
                f"rows that came {pieces} at a time, beside those of another round, gave "
                f"{in_short(results[0])} "
                f"and not {in_short(wanted[0])}",
                "Keep everything in the total that init, add and finish hand on, and nothing in "
                "the aggregator",
            )


def _needs_enough_rows(rule: Rule) -> None:
    if isinstance(rule.least_rows, bool) or not isinstance(rule.least_rows, int) or rule.least_rows < 1:
        broken(f"least_rows is {rule.least_rows!r}", "Return the fewest rows that it can combine, at least 1")


def _combines_in_double_precision(rule: Rule) -> None:
    rows = random_rows(max(23, rule.least_rows), _SIZE, 2)
    result = rule.combine(rows)
    if result.dtype != torch.float64:
        broken(f"combine gave {result.dtype}", "Return torch.float64: convert rows with row.double()")


_PROMISES: tuple[Promise[Aggregator], ...] = (
    Promise(says="declares how it takes rows", check=_declares_itself),
    Promise(says="makes a finite vector of any rows", check=_takes_any_cohort),
    Promise(says="gives the same bits again and writes to no row", check=_repeats_itself),
    Promise(says="does not hold on to the memory of a row", check=_holds_no_row),
    Promise(says="gives the same whatever comes between its rows", check=_keeps_totals_apart),
)
_RULE_PROMISES: tuple[Promise[Rule], ...] = (
    Promise(says="says how many rows it needs", check=_needs_enough_rows),
    Promise(says="combines in double precision", check=_combines_in_double_precision),
)
