from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.datasets.classes import check_classes, keep_classes


@given(st.lists(st.integers(0, 6), max_size=30), st.permutations(range(7)), st.integers(2, 7))
def test_examples_keep_their_order_and_get_the_new_number_of_their_class(
    labels: list[int], order: list[int], number: int
) -> None:
    classes = order[:number]
    x, y, kept = keep_classes(np.arange(len(labels)), np.array(labels, dtype=np.uint8), classes)
    expected = [i for i, label in enumerate(labels) if label in classes]
    assert x.tolist() == expected
    assert [classes[i] for i in y] == [labels[i] for i in expected]
    assert np.flatnonzero(kept).tolist() == expected


def test_all_classes_are_kept_if_none_are_given() -> None:
    assert check_classes(None, 4) == [0, 1, 2, 3]
    assert check_classes((3, 1), 4) == [3, 1]


@pytest.mark.parametrize("classes", [(0,), (), (1, 1), (0, 4), (0, -1)])
def test_wrong_classes_are_refused(classes: Any) -> None:
    with pytest.raises(InvalidValue, match="class"):
        check_classes(classes, 4)


@pytest.mark.parametrize("classes", ["01", 1, (0, 1.0), (0, True)])
def test_classes_of_a_wrong_type_are_refused(classes: Any) -> None:
    with pytest.raises(InvalidType, match="class"):
        check_classes(classes, 4)
