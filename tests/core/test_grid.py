"""Rows on the grid of exact noise: never longer than their bound, and sums without rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.aggregation import Mean
from fedward.backends import InProcess
from fedward.base.validate import InvalidValue
from fedward.clipping import FlatNorm, Quantile
from fedward.core.check import check_setup
from fedward.core.grid import MOST_USERS, Grid
from fedward.core.roster import Roster
from fedward.core.train import train
from fedward.mechanisms import GaussianNoise
from fedward.privacy.renewal import renew
from fedward.privacy.terms import Terms
from fedward.sampling import EveryoneSampler
from support import one_round, tiny_algorithm, tiny_federation, tiny_model

FEDERATION, MODEL = tiny_federation(), tiny_model()


def exact_square(row: Tensor) -> Fraction:
    return sum((Fraction(value) ** 2 for value in row.double().tolist()), Fraction(0))


@given(
    values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=12),
    bound=st.floats(1e-6, 1e6),
    double=st.booleans(),
)
def test_no_row_is_longer_than_its_bound_after_it_was_cut(
    values: list[float], bound: float, double: bool
) -> None:
    row = torch.tensor(values, dtype=torch.float64 if double else torch.float32)
    norm = FlatNorm()
    clipped = norm.clip(row, norm.measure(row), (bound,))
    grid = Grid.for_bound(bound)
    cut = grid.cut(clipped)
    assert cut.dtype == row.dtype
    assert exact_square(cut) <= Fraction(bound) ** 2
    units = cut.double() / grid.spacing
    assert torch.equal(units, units.round())
    # Towards zero, by less than one unit: but for a row that had to be made shorter.
    assert bool((cut.abs() <= clipped.abs()).all())
    short = clipped.abs().double() * (1 - 2.0**-19) - 2 * grid.spacing
    assert bool((cut.abs().double() >= short).all())


def test_a_row_that_is_too_long_by_a_millionth_of_a_millionth_is_found_and_made_shorter() -> None:
    """All its coordinates lie on the grid, so that rounding towards zero does not help."""
    units = torch.tensor([2.0**25, 1.0, 1.0], dtype=torch.float64)
    grid = Grid(spacing=1.0, bound=2.0**25)
    assert exact_square(units) > Fraction(grid.bound) ** 2
    assert exact_square(grid.cut(units)) <= Fraction(grid.bound) ** 2
    assert float(grid.cut(units)[0]) > 2.0**25 * (1 - 2.0**-18)


def test_what_is_no_clipped_row_becomes_zero() -> None:
    grid = Grid(spacing=1.0, bound=8.0)
    for row in (torch.full((3,), 9.0), torch.full((3,), 1e30), torch.tensor([math.nan, 1.0])):
        assert torch.equal(grid.cut(row), torch.zeros_like(row))


@given(
    units=st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=8),
    bound=st.floats(1e-3, 1e3),
    divisor=st.floats(0.5, 1e7),
)
def test_units_are_found_again_behind_the_divisor(units: list[int], bound: float, divisor: float) -> None:
    grid = Grid.for_bound(bound)
    aggregate = torch.tensor(units, dtype=torch.float64) * grid.spacing / divisor
    assert grid.units(aggregate, 1.0 / divisor).tolist() == units


def test_a_mean_of_rows_on_the_grid_has_no_rounding_in_any_order() -> None:
    grid, rng = Grid.for_bound(0.7), np.random.default_rng(0)
    rows = [grid.cut(torch.from_numpy(rng.normal(0, 0.02, 50)).float()) for _ in range(300)]
    mean, found = Mean(expected_cohort=77.3), []
    for order in (rows, rows[::-1], [rows[i] for i in rng.permutation(300)]):
        total = mean.init(torch.zeros(50))
        for row in order:
            total = mean.add(total, row, 1)
        found.append(grid.units(mean.finish(total), mean.sensitivity(1.0, "add/remove") or 0.0))
    wanted = [sum(int(row[i] / grid.spacing) for row in rows) for i in range(50)]
    assert all(units.tolist() == wanted for units in found)


def test_an_aggregate_beside_the_grid_is_refused() -> None:
    grid = Grid(spacing=1.0, bound=8.0)
    for aggregate in (
        torch.tensor([0.5]),
        torch.tensor([2.0**51], dtype=torch.float64),
        torch.tensor([math.nan]),
    ):
        with pytest.raises(InvalidValue, match="beside its grid"):
            grid.units(aggregate, 1.0)


@pytest.mark.parametrize(("spacing", "bound"), [(0.3, 1.0), (0.0, 1.0), (1.0, 0.0), (1.0, 2.0**26)])
def test_a_grid_must_be_of_a_power_of_two_that_is_fine_enough(spacing: float, bound: float) -> None:
    with pytest.raises(InvalidValue, match="grid"):
        Grid(spacing=spacing, bound=bound)


def test_rows_of_a_round_are_cut_only_where_noise_is_exact() -> None:
    def row(user: int) -> Tensor:
        return torch.full((26,), 0.01 / 7)

    found = {}
    for source in ("seeded", "system"):
        nearly_silent = tiny_algorithm(sampler=EveryoneSampler(), noise_source=source, noise_multiplier=1e-12)
        state = nearly_silent.init(torch.zeros(26, dtype=torch.float64))
        moved = one_round(nearly_silent, state, FEDERATION, row)[0].parameters
        found[source] = moved * 12 / Grid.for_bound(0.7).spacing
    torch.testing.assert_close(found["system"], found["system"].round(), atol=1e-6, rtol=0)
    assert float((found["seeded"] - found["seeded"].round()).abs().min()) > 0.01
    # Also the least noise smooths the grid: its standard deviation is four units.
    assert 2.0 < float(found["system"].std()) < 7.0


def test_a_guarantee_says_exact_unless_something_is_not() -> None:
    exact = tiny_algorithm(noise_source="system").guarantee(12, 3, 1e-3, "rdp")
    assert exact.terms.exact
    assert str(exact).endswith("system entropy, exact noise")
    seeded = tiny_algorithm().guarantee(12, 3, 1e-3, "rdp")
    assert "exact" not in str(seeded)
    assert not seeded.terms.exact
    looking = Quantile(initial=0.1, quantile=0.5, bit_noise=3.0, expected_cohort=6)
    looked = replace(tiny_algorithm(noise_source="system"), policy=looking).guarantee(12, 3, 1e-3, "rdp")
    assert not looked.terms.exact
    assert str(looked).endswith("system entropy")


def test_a_training_that_began_in_floating_point_goes_on_and_never_says_exact() -> None:
    algorithm = tiny_algorithm(noise_source="system")
    state = algorithm.init(torch.zeros(26))
    older = replace(state, ledger=replace(state.ledger, terms=replace(state.ledger.terms, exact=False)))
    backend = InProcess(MODEL, FEDERATION)
    (after, _) = next(train(algorithm, MODEL, FEDERATION, backend, rounds=1, seed=1, state=older))
    assert not after.ledger.terms.exact
    # The other way round it would promise too much.
    floating = replace(algorithm, mechanism=GaussianNoise(multiplier=1.0))
    with pytest.raises(InvalidValue, match="same sampling, noise source"):
        next(train(floating, MODEL, FEDERATION, backend, rounds=1, seed=1, state=state))


@dataclass(frozen=True, kw_only=True)
class NoDivisor(Mean):
    """A mean that does not say that it is one."""

    divisor = None  # type: ignore[assignment]


def test_noise_on_a_grid_needs_a_sum_over_a_constant() -> None:
    with pytest.raises(InvalidValue, match="divides a sum of rows by a constant"):
        replace(tiny_algorithm(noise_source="system"), aggregator=NoDivisor(expected_cohort=6.0))
    assert (
        replace(tiny_algorithm(), aggregator=NoDivisor(expected_cohort=6.0))
        .guarantee(12, 1, 1e-3, "rdp")
        .private
    )


def test_more_users_than_a_double_can_add_up_are_refused() -> None:
    algorithm = tiny_algorithm(noise_source="system")
    many = replace(FEDERATION.roster, sizes=FEDERATION.roster.sizes)
    object.__setattr__(many, "sizes", np.ones(MOST_USERS + 1, dtype=np.int8))
    assert isinstance(many, Roster)
    with pytest.raises(InvalidValue, match=r"at most 16,777,216 with exact noise"):
        check_setup(algorithm, MODEL, many)


@pytest.mark.parametrize("bound", [1e-300, 1e300])
def test_a_bound_beyond_all_grids_is_refused_before_the_first_round(bound: float) -> None:
    algorithm = tiny_algorithm(noise_source="system", clip_bound=bound)
    with pytest.raises(InvalidValue, match=r"for exact noise|positive and finite"):
        check_setup(algorithm, MODEL, FEDERATION.roster, rounds=1)


def test_a_ledger_of_version_1_with_system_entropy_is_renewed_and_never_says_exact() -> None:
    wanted = tiny_algorithm(noise_source="system").new_ledger()
    older = replace(wanted, terms=Terms())
    assert not renew(older, wanted).terms.exact
    assert renew(older, wanted).terms.divisor == wanted.terms.divisor
