from __future__ import annotations

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.arena_cells import Cell, Only

KNOWN = {"attack": ("no attack", "flip"), "defence": ("no defence", "krum"), "data": ("",)}


def test_cells_are_chosen_by_their_sides() -> None:
    only = Only.parse(["attack=flip,no attack", "defence=krum"])
    only.check(KNOWN)
    assert only.holds(Cell(data="", defence="krum", attack="flip"))
    assert not only.holds(Cell(data="", defence="no defence", attack="flip"))
    assert Only.parse([]).holds(Cell(data="", defence="no defence", attack="flip"))


def test_a_side_or_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidValue, match="got 'defense=krum'; did you mean 'defence'"):
        Only.parse(["defense=krum"])
    with pytest.raises(InvalidValue, match="defence must be one of no defence, krum, got 'krun'"):
        Only.parse(["defence=krun"]).check(KNOWN)


def test_a_cell_says_its_sides_without_data_where_there_is_one_kind() -> None:
    cell = Cell(data="skewed", defence="krum", attack="flip")
    assert Cell.of(cell.labels) == cell
    assert str(Cell(data="", defence="krum", attack="flip")) == "krum, flip"
