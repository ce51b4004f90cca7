from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.attacks.poisoning import PATTERNS, Pattern, Pixels, Square, Triangle
from fedward.attacks.poisoning.patterns import images
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged


@given(
    mask=st.integers(1, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=1, max_size=6
        )
    )
)
def test_any_mask_can_be_written_as_pixels(mask: list[list[bool]]) -> None:
    array = np.array(mask)
    if not array.any():
        with pytest.raises(InvalidValue, match="a pattern must have at least one pixel, got 0"):
            Pixels.from_mask(mask)
        return
    painted = np.zeros_like(array)
    for place in Pixels.from_mask(torch.tensor(mask)).pixels((3, *array.shape)):
        painted[place] = True
    assert np.array_equal(painted, array)


@given(rows=st.integers(1, 9), columns=st.integers(1, 9), size=st.integers(1, 9))
def test_squares_and_triangles_fill_the_bottom_right_corner(rows: int, columns: int, size: int) -> None:
    square, triangle = Square(size=size), Triangle(size=size)
    if size > min(rows, columns):
        for pattern in (square, triangle):
            with pytest.raises(InvalidValue, match=f"inside the image of {rows} x {columns} pixels, got one"):
                pattern.pixels((rows, columns))
        return
    everywhere = [(row, column) for row in range(rows) for column in range(columns)]
    # Distances from the corner.
    assert square.pixels((rows, columns)) == tuple(
        (r, c) for r, c in everywhere if rows - 1 - r < size and columns - 1 - c < size
    )
    assert triangle.pixels((1, rows, columns)) == tuple(
        (r, c) for r, c in everywhere if (rows - 1 - r) + (columns - 1 - c) < size
    )


def test_a_square_can_stand_anywhere() -> None:
    assert Square(size=2, row=0, column=1).pixels((4, 5)) == ((0, 1), (0, 2), (1, 1), (1, 2))
    assert Square(size=1, row=-4, column=-1).pixels((4, 5)) == ((0, 4),)
    assert Square(size=2, row=0).pixels((4, 5)) == ((0, 3), (0, 4), (1, 3), (1, 4))


def test_pixels_come_in_reading_order_and_negative_ones_count_from_the_end() -> None:
    pattern = Pixels(places=((-1, -1), (0, 2), (0, -5), (3, 0)))
    assert pattern.pixels((2, 4, 5)) == ((0, 0), (0, 2), (3, 0), (3, 4))


@pytest.mark.parametrize(
    ("pattern", "pixel"),
    [
        (Pixels(places=((0, 0), (4, 1))), "row 4, column 1"),
        (Pixels(places=((0, 5),)), "row 0, column 5"),
        (Pixels(places=((-5, 0),)), "row -5, column 0"),
        (Square(size=2, row=3, column=0), "row 4, column 0"),
        (Square(size=2, row=0, column=-1), "row 0, column 5"),
        (Square(size=5), "row -1, column 0"),
        (Triangle(size=5), "row -1, column 4"),
    ],
)
def test_a_pixel_outside_the_image_is_named_with_the_size(pattern: Pattern, pixel: str) -> None:
    with pytest.raises(InvalidValue, match=f"inside the image of 4 x 5 pixels, .* {pixel}, counted"):
        pattern.pixels((3, 4, 5))


def test_a_pixel_that_comes_twice_is_refused() -> None:
    assert len(Pixels(places=((-1, -1), (3, 3))).pixels((5, 5))) == 2
    with pytest.raises(InvalidValue, match=r"must not repeat, got \(3, 3\) twice"):
        Pixels(places=((-1, -1), (3, 3))).pixels((4, 4))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("pixels", {"places": ()}, "at least one pixel, got 0"),
        ("pixels", {"places": ((1,),)}, r"pairs of a row and a column, got \(\(1,\),\)"),
        ("pixels", {"places": (1, 2)}, r"pairs of a row and a column, got \(1, 2\)"),
        ("pixels", {"places": [(1, 2)]}, "pairs of a row and a column"),
        ("pixels", {"places": ((1, 2.0),)}, "column must be a whole number, got 2.0"),
        ("pixels", {"places": ((True, 2),)}, "row must be a whole number, got True"),
        ("square", {"size": 0}, "size of the square must be at least 1, got 0"),
        ("square", {"size": 2, "column": 0.5}, "column must be a whole number, got 0.5"),
        ("triangle", {"size": 1.5}, "size of the triangle must be a whole number, got 1.5"),
    ],
)
def test_bad_patterns_are_refused(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        PATTERNS[name](**arguments)


def test_a_mask_must_have_rows_and_columns() -> None:
    with pytest.raises(InvalidValue, match=r"rows and columns, got shape \(1, 2, 2\)"):
        Pixels.from_mask(np.ones((1, 2, 2)))


def test_patterns_are_values() -> None:
    assert Square(size=2) == Square(size=2)
    assert len({Square(size=2), Square(size=2), Triangle(size=2)}) == 2
    assert len({Pixels(places=((0, 0),)), Pixels(places=((0, 0),))}) == 1


def test_only_images_have_pixels() -> None:
    labels = torch.zeros(2, dtype=torch.int64)
    for shape in ((2, 4, 5), (2, 3, 4, 5)):
        assert images(Examples(torch.zeros(shape), labels)).shape == shape
    with pytest.raises(InvalidType, match="got sequences of different lengths"):
        images(Examples(Ragged.from_sequences([[1], [2]]), labels))
    with pytest.raises(InvalidType, match=r"got torch\.int64"):
        images(Examples(torch.zeros(2, 4, 5, dtype=torch.int64), labels))
    with pytest.raises(InvalidValue, match=r"got shape \(7,\)"):
        images(Examples(torch.zeros(2, 7), labels))
