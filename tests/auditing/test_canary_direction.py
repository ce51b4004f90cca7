from __future__ import annotations

import pytest
import torch

from fedward.auditing.canary_direction import LOUD, Directions, length_beside
from fedward.base.validate import InvalidValue
from fedward.clipping import FlatNorm, PerLayerNorm


def test_directions_are_orthogonal_and_of_length_one() -> None:
    units = Directions.draw(FlatNorm(), 20, 7, seed=1).units
    torch.testing.assert_close(units @ units.T, torch.eye(7, dtype=torch.float64))


@pytest.mark.parametrize("bounds", [(0.5,), (2.0, 0.25)])
def test_what_is_loud_is_clipped_to_exactly_one_contribution(bounds: tuple[float, ...]) -> None:
    norm = FlatNorm() if len(bounds) == 1 else PerLayerNorm(sizes=(12, 8))
    directions = Directions.draw(norm, 20, 3, seed=1)
    loud = LOUD * directions.clipped(1, bounds)
    clipped = norm.clip(loud, norm.measure(loud), bounds)
    along = directions.along(clipped * 0.25, bounds, 0.25)
    assert along.tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-5)


def test_more_canaries_than_parameters_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 4"):
        Directions.draw(FlatNorm(), 4, 5, seed=1)


def test_what_lies_beside_a_direction_has_a_length() -> None:
    assert length_beside(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 9.0])) == pytest.approx(3.0)
