from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from fedward.core.examples import Examples, Ragged
from fedward.testing.conformance import Promise, check_promises
from fedward.testing.repeatable import in_short, left_alone, require_repeatable, same_bits
from testing.caught import caught


def repeat(call: Callable[[], Any]) -> Any:
    promise = Promise[Any](says="repeats itself", check=lambda call: require_repeatable(call, "it") and None)
    return check_promises("function", call, [promise], name="it")


def hidden_draw() -> float:
    """Reads the global state and puts it back."""
    state = torch.get_rng_state()
    number = float(torch.rand(1))
    torch.set_rng_state(state)
    return number


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: float(torch.rand(1)), "changed the state of the global generator of torch"),
        (lambda: float(np.random.rand()), "changed the state of the global generator of numpy"),  # noqa: NPY002
        (lambda: random.random(), "changed the state of the global generator of random"),
        (lambda: float(np.random.default_rng().random()), "and then"),
        (hidden_draw, "with another state of the global generators"),
    ],
)
def test_chance_from_elsewhere_is_caught(call: Callable[[], Any], fault: str) -> None:
    assert fault in caught(repeat, call)


def test_global_generators_are_left_as_they_were() -> None:
    before = random.getstate(), torch.get_rng_state()
    repeat(lambda: 1.0)
    caught(repeat, lambda: float(torch.rand(1)))
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


def test_a_write_to_an_input_is_caught() -> None:
    x = torch.ones(3)

    def writes(_: None) -> None:
        with left_alone("it", x):
            x.add_(1)

    promise = Promise[None](says="leaves inputs alone", check=writes)
    assert "it changed its input in place, from [1, 1, 1]" in caught(check_promises, "part", None, [promise])


def test_bits_are_compared_to_the_last() -> None:
    one, nan = torch.ones(2), torch.tensor([float("nan"), 1.0])
    assert same_bits(nan, nan.clone())
    assert not same_bits(one, one.double())
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits([1.0], (1.0,))
    assert same_bits({"a": [np.ones(2), float("nan")]}, {"a": [np.ones(2), float("nan")]})
    ragged = Examples(Ragged.from_sequences([[1, 2], [3]]), torch.tensor([0, 1]))
    assert same_bits(ragged, Examples(Ragged.from_sequences([[1, 2], [3]]), torch.tensor([0, 1])))
    assert not same_bits(ragged, Examples(Ragged.from_sequences([[1], [2, 3]]), torch.tensor([0, 1])))


def test_values_are_printed_in_one_short_line() -> None:
    assert in_short(torch.arange(9.0)) == "[0, 1, 2, 3, ...] of shape (9,)"
    assert len(in_short("x" * 500)) == 120
