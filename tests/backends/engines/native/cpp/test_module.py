"""Whatever is wrong at the boundary of the compiled engine is an error with words, and never a crash."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from torch import nn

from backends.engines.native.oracles import engine_of, same_bits
from backends.engines.native.stacks import stack_of

_engine = pytest.importorskip(
    "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
)

STACK = stack_of(
    nn.Conv2d(2, 3, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(6, 4), shape=(2, 3, 5)
)
SIZE = STACK.start.numel()
COUNT = 6


def arguments(**changes: Any) -> dict[str, Any]:
    """Right arguments for every method, and what is to be changed of them."""
    x, y = STACK.examples(COUNT)
    right = {
        "start": STACK.start.numpy(),
        "x": x.numpy(),
        "y": y.numpy(),
        "order": np.array([5, 0, 1, 1, 4]),
        "sizes": [2, 3],
        "bounds": [1.0],
        "first": 1,
        "count": 4,
        "bound": 0.0,
    }
    unknown = changes.keys() - right.keys()
    assert not unknown
    return right | changes


def train(a: dict[str, Any]) -> Any:
    engine = engine_of(STACK)
    return engine.train(
        a["start"], a["x"], a["y"], a["order"], a["sizes"], learning_rate=0.1, momentum=0.5, bound=a["bound"]
    )


def gradient(a: dict[str, Any]) -> Any:
    return engine_of(STACK).gradient(a["start"], a["x"], a["y"], a["order"])


def clipped_sum(a: dict[str, Any]) -> Any:
    return engine_of(STACK).clipped_sum(a["start"], a["x"], a["y"], a["order"], a["bounds"])


def scores(a: dict[str, Any]) -> Any:
    return engine_of(STACK).scores(a["start"], a["x"], a["first"], a["count"])


EVERY = (train, gradient, clipped_sum, scores)
WITH_LABELS = (train, gradient, clipped_sum)


def strided(array: Any) -> Any:
    """The same numbers, each second place in memory."""
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def misaligned(array: Any) -> Any:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def test_right_arguments_are_taken() -> None:
    assert train(arguments()).shape == (SIZE,)
    assert gradient(arguments()).shape == (SIZE,)
    assert clipped_sum(arguments()).shape == (SIZE,)
    assert scores(arguments()).shape == (4, 4)
    for call in EVERY:
        assert call(arguments()).dtype == (np.float64 if call is clipped_sum else np.float32)


@pytest.mark.parametrize("call", EVERY, ids=lambda call: call.__name__)
def test_arrays_of_another_kind_are_refused(call: Any) -> None:
    right = arguments()
    names = ("start", "x") if call is scores else ("start", "x", "y", "order")
    for name in names:
        array = right[name]
        other = np.int32 if array.dtype == np.int64 else np.float64
        changed: list[Any] = [
            array.astype(other),
            array.astype(np.uint8),
            strided(array),
            array.tolist(),
            None,
        ]
        changed += [array.astype(array.dtype.newbyteorder()), "text", 3]
        changed += [array.transpose()] if array.ndim > 1 else [array[::-1]]
        for wrong in changed:
            with pytest.raises(TypeError, match="incompatible function arguments"):
                call(arguments(**{name: wrong}))
        with pytest.raises(ValueError, match="aligned"):
            call(arguments(**{name: misaligned(array)}))


@pytest.mark.parametrize("call", EVERY, ids=lambda call: call.__name__)
def test_parameters_must_be_as_many_as_the_model_has(call: Any) -> None:
    for wrong in (SIZE - 1, SIZE + 1, 0, (1, SIZE), (SIZE, 1), ()):
        with pytest.raises(ValueError, match=rf"parameters must have shape \({SIZE},\), got \("):
            call(arguments(start=np.zeros(wrong, np.float32)))


@pytest.mark.parametrize("call", EVERY, ids=lambda call: call.__name__)
def test_examples_must_have_the_shape_of_the_model(call: Any) -> None:
    for wrong in (
        (6, 2, 3, 4),
        (6, 3, 3, 5),
        (6, 29),
        (6, 30),
        (6, 3, 5, 2),
        (6, 2, 5, 3),
        (6, 2, 15),
        (6,),
        (),
        (180,),
        (6, 0),
        (0, 2, 3, 4),
        (1, 6, 2, 3, 5),
    ):
        with pytest.raises(ValueError, match="examples have the wrong shape for this model, got"):
            call(arguments(x=np.zeros(wrong, np.float32)))


@pytest.mark.parametrize("call", WITH_LABELS, ids=lambda call: call.__name__)
def test_there_must_be_one_label_for_each_example(call: Any) -> None:
    for wrong in (COUNT - 1, COUNT + 1, 0, (COUNT, 1), ()):
        with pytest.raises(ValueError, match="there must be one label for each example, got"):
            call(arguments(y=np.zeros(wrong, np.int64)))


@pytest.mark.parametrize("call", WITH_LABELS, ids=lambda call: call.__name__)
def test_labels_must_be_classes(call: Any) -> None:
    for wrong in (4, -1, 2**31, -(2**63), 2**63 - 1):
        y = np.zeros(COUNT, np.int64)
        y[4] = wrong
        with pytest.raises(ValueError, match=f"label {wrong} does not exist: there are 4 classes"):
            call(arguments(y=y))


@pytest.mark.parametrize("call", WITH_LABELS, ids=lambda call: call.__name__)
def test_the_order_must_name_examples(call: Any) -> None:
    for wrong in (COUNT, -1, 2**31, 2**32, -(2**63), 2**63 - 1):
        with pytest.raises(ValueError, match=f"example {wrong} does not exist: there are 6"):
            call(arguments(order=np.array([0, 1, 2, wrong, 3])))
    with pytest.raises(ValueError, match="the order of examples must be one row"):
        call(arguments(order=np.zeros((5, 1), np.int64)))
    with pytest.raises(ValueError, match="the order of examples must be one row"):
        call(arguments(order=np.array(0)))
    # Without any example none exists.
    with pytest.raises(ValueError, match="example 5 does not exist: there are 0"):
        call(arguments(x=np.zeros((0, 2, 3, 5), np.float32), y=np.zeros(0, np.int64)))


def test_a_gradient_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a gradient needs at least one example"):
        gradient(arguments(order=np.zeros(0, np.int64)))


@pytest.mark.parametrize(
    "sizes",
    [
        [5, 0],
        [0, 5],
        [2, 2],
        [2, 4],
        [6],
        [-1, 6],
        [6, -1],
        [2**62, 2**62],
        [2**63 - 1, 5],
        [],
        [5, 2**62],
        [5, -5],
    ],
    ids=str,
)
def test_steps_must_use_up_the_order(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match=r"of the order|does not fit the order"):
        train(arguments(sizes=sizes))


@pytest.mark.parametrize("sizes", [[2.5, 2.5], [2**63, 1], 5, "23", [None], None], ids=str)
def test_steps_must_be_whole_numbers(sizes: Any) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        train(arguments(sizes=sizes))


def test_a_training_without_steps_stays_where_it_is() -> None:
    assert not train(arguments(order=np.zeros(0, np.int64), sizes=[])).any()


@pytest.mark.parametrize("bound", [math.nan, -1.0, -math.inf, -1e-300])
def test_a_ball_must_have_a_radius(bound: float) -> None:
    with pytest.raises(ValueError, match="bound must be positive, or 0 for none, got"):
        train(arguments(bound=bound))


@pytest.mark.parametrize("bound", [math.nan, 0.0, -0.0, -1.0, math.inf, -math.inf])
def test_clip_bounds_must_be_positive_and_finite(bound: float) -> None:
    for bounds in ([bound], [1.0, bound], [bound, 1.0]):
        with pytest.raises(ValueError, match="clip bound must be positive and finite, got"):
            clipped_sum(arguments(bounds=bounds))


@pytest.mark.parametrize("bounds", [[], [1.0] * 3, [1.0] * 1000])
def test_there_must_be_one_clip_bound_or_one_for_each_layer(bounds: list[float]) -> None:
    with pytest.raises(ValueError, match=f"clip bounds must be 1 or one for each layer, got {len(bounds)}"):
        clipped_sum(arguments(bounds=bounds))


@pytest.mark.parametrize(
    ("first", "count"),
    [(-1, 2), (0, 7), (7, 0), (6, 1), (2, -1), (2**62, 2**62), (0, 2**63 - 1), (2**63 - 1, 1)],
)
def test_scores_must_be_of_examples_that_exist(first: int, count: int) -> None:
    with pytest.raises(ValueError, match=f"there are 6 examples, {count} were asked for from {first} on"):
        scores(arguments(first=first, count=count))


def test_arrays_that_are_read_only_or_parts_of_others_are_taken() -> None:
    right = arguments()
    readonly = {name: np.array(right[name]) for name in ("start", "x", "y", "order")}
    for array in readonly.values():
        array.flags.writeable = False
    parts = {
        name: np.concatenate([array, array, array])[len(array) : 2 * len(array)]
        for name, array in readonly.items()
    }
    for call in EVERY:
        wanted = call(right)
        for changed in (readonly, parts):
            assert same_bits(call(arguments(**changed)), wanted)
        assert same_bits(right["x"], arguments()["x"])
        assert same_bits(right["start"], arguments()["start"])
