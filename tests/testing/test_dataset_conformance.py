from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.testing import check_dataset
from support import flat_inputs, tiny_federation
from testing.caught import caught


def of_numpys_mood() -> Federation:
    x = np.random.normal(size=(12, 3)).astype(np.float32)  # noqa: NPY002
    return Federation.from_arrays(x, [0, 1] * 6, list(range(12)))


def of_the_day() -> Federation:
    x = np.random.default_rng().normal(size=(12, 3)).astype(np.float32)
    return Federation.from_arrays(x, [0, 1] * 6, list(range(12)))


def arrays() -> Any:
    return np.ones((12, 3)), [0, 1] * 6


def holes() -> Federation:
    good = tiny_federation()
    x = flat_inputs(good.examples).clone()
    x[7, 1] = torch.nan
    return replace(good, examples=Examples(x, good.examples.y))


def two_of_one_name() -> Federation:
    good = tiny_federation()
    names = good.names.copy()
    names[3] = names[4]
    return replace(good, names=names)


def one_class() -> Federation:
    good = tiny_federation()
    return replace(good, examples=Examples(good.examples.x, 0 * good.examples.y))


def negative_labels() -> Federation:
    good = tiny_federation()
    return replace(good, examples=Examples(good.examples.x, good.examples.y - 1))


def other_test_shape() -> Federation:
    good = tiny_federation()
    assert good.test is not None
    return replace(good, test=Examples(flat_inputs(good.test)[:, :2], good.test.y))


def empty_test() -> Federation:
    good = tiny_federation()
    assert good.test is not None
    return replace(good, test=good.test.span(0, 0))


def unheard_of_class() -> Federation:
    good = tiny_federation()
    assert good.test is not None
    return replace(good, num_classes=9, test=Examples(good.test.x, good.test.y + 5))


@pytest.mark.parametrize(
    ("load", "fault"),
    [
        (of_numpys_mood, "changed the state of the global generator of numpy"),
        (of_the_day, "and then"),
        (arrays, "Return fedward.Federation.from_arrays"),
        (holes, "its training examples hold NaN or infinity"),
        (two_of_one_name, "12 users have 11 names"),
        (one_class, "all training examples have the label 0"),
        (negative_labels, "from -1 to 0, and there are 2 classes"),
        (other_test_shape, "training examples are (3,) torch.float32, and test examples (2,)"),
        (empty_test, "its test set is empty"),
        (unheard_of_class, "test examples have the label 5, which no training example has"),
    ],
)
def test_a_broken_data_set_is_caught(load: Callable[[], Any], fault: str) -> None:
    message = caught(check_dataset, load)
    assert fault in message
    assert message.startswith(load.__name__)


def test_a_data_set_may_have_no_test_set_and_says_what_that_means() -> None:
    report = check_dataset(lambda: replace(tiny_federation(), test=None))
    assert report.part == "the data set"
    assert [each.reason for each in report.skipped] == [
        "it has no test set, so models cannot be measured on it"
    ]
