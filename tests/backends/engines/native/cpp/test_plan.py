"""Layers that make no sense, do not fit or are beyond all measure never become an engine."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

_engine = pytest.importorskip(
    "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
)

Engine, Layer = _engine.Engine, _engine.Layer


def convolution(outputs: int = 3, kernel: tuple[int, int] = (2, 2), **options: Any) -> Any:
    return Layer("convolution", outputs=outputs, kernel=kernel, **options)


def linear(weight_at: int = 24, bias_at: int = -1, kernel: tuple[int, int] = (2, 4), **options: Any) -> Any:
    return Layer(
        "convolution",
        outputs=4,
        kernel=kernel,
        weight_at=weight_at,
        bias_at=bias_at,
        channels_last=False,
        **options,
    )


def engine(
    layers: list[Any], parameters: int, shape: tuple[int, int, int] = (2, 3, 5), name: str = "auto"
) -> Any:
    return Engine(*shape, layers, parameters, name)


def test_layers_that_fit_are_taken() -> None:
    assert engine([convolution(), linear()], 24 + 96).classes == 4
    assert engine([convolution(), linear(bias_at=120)], 24 + 96 + 4).classes == 4
    assert engine([convolution(weight_at=96), linear(weight_at=0)], 24 + 96).classes == 4


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (convolution(kernel=(0, 2)), "convolution of a layer is not possible"),
        (convolution(stride=(1, 0)), "convolution of a layer is not possible"),
        (convolution(padding=(-1, 0)), "negative"),
        (convolution(kernel=(-2, 2)), "negative"),
        (convolution(stride=(1, -1)), "negative"),
        (convolution(kernel=(4, 2)), "a kernel of 4 is larger than its input"),
        (convolution(kernel=(2, 6)), "a kernel of 6 is larger than its input"),
        (convolution(outputs=0), "at least one output"),
        (convolution(outputs=-3), "negative"),
        (Layer("largest", kernel=(0, 1)), "pool of a layer is not possible"),
        (Layer("mean", kernel=(2, 2), stride=(0, 1)), "pool of a layer is not possible"),
        (Layer("largest", kernel=(2, 2), padding=(0, 2)), "at most half of its kernel"),
        (Layer("mean", kernel=(3, 2), padding=(2, 0)), "at most half of its kernel"),
        (Layer("mean", kernel=(2, 2), padding=(-1, 0)), "negative"),
        (Layer("largest", kernel=(4, 1)), "a kernel of 4 is larger than its input"),
        (Layer("adaptive_mean", out=(0, 1)), "at least one output"),
        (Layer("adaptive_mean", out=(1, -1)), "negative"),
        (Layer("adaptive_mean"), "at least one output"),
    ],
)
def test_layers_that_make_no_sense_are_refused(layer: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        engine([layer, linear()], 120)


@pytest.mark.parametrize(
    ("layers", "parameters"),
    [
        ([convolution(weight_at=1), linear(25)], 120),  # reaches over the end
        ([convolution(weight_at=97), linear(0)], 120),
        ([convolution(weight_at=-1), linear(23)], 119),
        ([convolution(), linear(-4)], 116),
        ([convolution(), linear(23)], 119),  # overlap
        ([convolution(), linear(0)], 96),
        ([convolution(bias_at=22), linear()], 120),
        ([convolution(bias_at=0), linear()], 120),
        ([convolution(bias_at=118), linear()], 121),
        ([convolution(), linear(bias_at=-4)], 120),
        ([convolution(), linear(bias_at=-2)], 124),
        ([convolution(), linear(25)], 121),  # a gap
        ([convolution(), linear()], 119),
        ([convolution(), linear()], 121),
        ([convolution(), linear()], 2**27),
        ([convolution(weight_at=2**63 - 1), linear()], 120),
        ([convolution(weight_at=-(2**63)), linear()], 120),
        ([convolution(bias_at=2**63 - 2), linear()], 123),
        ([convolution(bias_at=-(2**63)), linear()], 120),
    ],
)
def test_parameters_that_are_not_each_in_one_place_are_refused(layers: list[Any], parameters: int) -> None:
    with pytest.raises(ValueError, match="parameters"):
        engine(layers, parameters)


def test_a_model_without_a_layer_or_without_one_score_for_each_class_is_refused() -> None:
    for layers in ([], [Layer("relu")], [Layer("largest", kernel=(3, 5))]):
        with pytest.raises(ValueError, match="must have a layer with parameters"):
            engine(layers, 1)
    for layers in ([convolution()], [convolution(), Layer("adaptive_mean", out=(1, 2))]):
        with pytest.raises(ValueError, match="one score for each class"):
            engine(layers, 24)


BRANCH, SHORTCUT, SUM = (Layer(kind) for kind in ("branch", "shortcut", "sum"))


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ([BRANCH], "a branch has no sum"),
        ([BRANCH, SHORTCUT], "a branch has no sum"),
        ([SHORTCUT], "a shortcut must come after a branch"),
        ([SUM], "a sum must come after a shortcut"),
        ([BRANCH, SUM], "a sum must come after a shortcut"),
        ([BRANCH, SHORTCUT, SHORTCUT], "a shortcut must come after a branch"),
        ([BRANCH, SHORTCUT, SUM, SUM], "a sum must come after a shortcut"),
        ([BRANCH, BRANCH, SHORTCUT, SUM], "a branch has no sum"),
        ([BRANCH, convolution(), SHORTCUT, SUM], "must end with the same shape"),
        ([BRANCH, SHORTCUT, Layer("mean", kernel=(1, 2)), SUM], "must end with the same shape"),
        ([BRANCH, SHORTCUT, Layer("adaptive_mean", out=(1, 5)), SUM], "must end with the same shape"),
    ],
)
def test_branches_that_do_not_meet_are_refused(layers: list[Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        engine([*layers, convolution(), linear()], 120)


def test_branches_that_meet_are_taken() -> None:
    assert engine([BRANCH, BRANCH, SHORTCUT, SUM, SHORTCUT, SUM, convolution(), linear()], 120).classes == 4
    assert engine([convolution(), BRANCH, SHORTCUT, Layer("relu"), SUM, linear()], 120).classes == 4


def normalisation(groups: int, epsilon: float = 1e-5, weight_at: int = 24, bias_at: int = 27) -> Any:
    return Layer("normalisation", groups=groups, epsilon=epsilon, weight_at=weight_at, bias_at=bias_at)


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (normalisation(0), "groups must divide 3 channels, got 0"),
        (normalisation(2), "groups must divide 3 channels, got 2"),
        (normalisation(6), "groups must divide 3 channels, got 6"),
        (normalisation(-3), "negative"),
        (normalisation(3, epsilon=-1e-30), "finite and not negative"),
        (normalisation(3, epsilon=float("inf")), "finite and not negative"),
        (normalisation(3, epsilon=float("nan")), "finite and not negative"),
        (normalisation(3, weight_at=-1), "outside of the model's"),
        (normalisation(3, bias_at=-1), "outside of the model's"),
        (normalisation(3, weight_at=-2, bias_at=-2), "outside of the model's"),
        (normalisation(3, weight_at=124), "outside of the model's"),
        (normalisation(3, bias_at=2**63 - 1), "outside of the model's"),
        (normalisation(3, weight_at=23), "overlap"),
        (normalisation(3, weight_at=27), "overlap"),
        (normalisation(3, weight_at=-1, bias_at=-1), "the layers have 120 parameters, the model has 126"),
    ],
)
def test_normalisations_that_make_no_sense_are_refused(layer: Any, why: str) -> None:
    assert engine([convolution(), normalisation(3), linear(30)], 126).classes == 4
    with pytest.raises(ValueError, match=why):
        engine([convolution(), layer, linear(30)], 126)


def test_each_layer_with_parameters_has_a_bound_of_its_own() -> None:
    made = engine([convolution(), normalisation(3), normalisation(1, 0.0, -1, -1), linear(30)], 126)
    x, y = np.zeros((1, 2, 3, 5), np.float32), np.zeros(1, np.int64)
    for count in (1, 3):
        made.clipped_sum(np.zeros(126, np.float32), x, y, y, [1.0] * count)
    for count in (0, 2, 4):
        with pytest.raises(ValueError, match="clip bounds must be 1 or one for each layer"):
            made.clipped_sum(np.zeros(126, np.float32), x, y, y, [1.0] * count)


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (2, 3, -1), (-2, -3, 5)], ids=str)
def test_an_empty_input_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        engine([convolution(), linear()], 120, shape)
    with pytest.raises(ValueError, match="must not be empty"):
        engine([convolution(), linear()], 0)


def test_names_that_do_not_exist_are_refused() -> None:
    for name in ("", "avx", "AVX2", "auto ", "sse"):
        with pytest.raises(ValueError, match="instruction set must be"):
            engine([convolution(), linear()], 120, name=name)
        with pytest.raises(ValueError, match="instruction set must be"):
            _engine.instruction_set(name)
    for name in ("", "conv", "linear"):
        with pytest.raises(ValueError, match="there is no kind of layer called"):
            Layer(name)
    for options in (
        {"outputs": 2**31},
        {"kernel": (1, 2**31)},
        {"kernel": (1,)},
        {"outputs": 1.5},
        {"name": 1},
    ):
        with pytest.raises(TypeError, match="incompatible"):
            Layer("convolution", **options)
    for layers in (None, [None], ["relu"], Layer("relu")):
        with pytest.raises(TypeError, match="incompatible"):
            engine(layers, 120)  # type: ignore[arg-type]


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """Whoever asks for more than 200 megabytes gets a MemoryError, and the machine stays usable."""
    pages = Path("/proc/self/statm")
    if not pages.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(pages.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 2**20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


LARGE = (2**20, 2**24, 2**25, 2**30, 2**31 - 1)


def large_layers(much: int) -> list[tuple[list[Any], int, tuple[int, int, int]]]:
    """Models that would need gigabytes, or numbers with more than 32 or 64 bits."""
    small = (2, 3, 5)
    end = Layer("adaptive_mean", out=(1, 1))
    return [
        ([convolution(padding=(much, much)), end], 24, small),
        ([convolution(padding=(much, 0), stride=(much, 1)), convolution(padding=(0, much)), end], 24, small),
        ([convolution(kernel=(much, much), padding=(much, much)), end], 6 * much * much % 2**62, small),
        ([convolution(outputs=much), convolution(outputs=much), end], 2**60, small),
        ([convolution(outputs=much), end], 8 * much, (2, 2**10, 2**10)),
        (
            [convolution(outputs=2**18, kernel=(1, 1)), convolution(2**18, (1, 1), weight_at=1), end],
            much,
            (1, 1, 1),
        ),
        ([Layer("adaptive_mean", out=(much, much)), convolution(), end], 24, small),
        (
            [Layer("adaptive_mean", out=(much, 2)), convolution(), Layer("adaptive_mean", out=(much, 4))],
            24,
            small,
        ),
        ([Layer("mean", kernel=(500, 500)), convolution(), end], 12, (1, 1000, 1000)),
        ([Layer("adaptive_mean", out=(4, 4)), Layer("largest", kernel=(1000, 1000))], 1, (1, 1000, 1000)),
        ([convolution(), end], 24, (much, much, much)),
        ([convolution(), end], 24, (2, 2**12, much)),
        ([convolution(), linear(kernel=(much, much), padding=(much, much))], 24 + 12 * much, small),
        ([convolution(), linear()], 2**62, small),
    ]


@pytest.mark.parametrize("much", LARGE)
def test_sizes_beyond_all_measure_are_refused_before_memory_is_taken(much: int) -> None:
    with little_memory():
        for layers, parameters, shape in large_layers(much):
            with pytest.raises(ValueError, match=r"too large|larger than its input|parameters"):
                engine(layers, max(parameters, 1), shape)


NUMBERS = st.one_of(st.integers(-1, 6), st.sampled_from([100, 2**15, 2**16 + 1, 2**30, 2**31 - 1, -(2**31)]))
PAIRS = st.tuples(NUMBERS, NUMBERS)
PLACES = st.one_of(st.integers(-2, 200), st.sampled_from([2**31, 2**62, 2**63 - 1, -(2**63)]))
LAYERS = st.builds(
    Layer,
    st.sampled_from(
        [
            *("convolution", "largest", "mean", "adaptive_mean", "relu", "normalisation"),
            *("branch", "shortcut", "sum"),
        ]
    ),
    outputs=NUMBERS,
    kernel=PAIRS,
    stride=PAIRS,
    padding=PAIRS,
    counts_padding=st.booleans(),
    out=PAIRS,
    weight_at=PLACES,
    bias_at=PLACES,
    channels_last=st.booleans(),
    groups=NUMBERS,
    epsilon=st.sampled_from([1e-5, 0.0]),
)


@settings(max_examples=300)
@given(st.lists(LAYERS, max_size=7), NUMBERS, st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_any_numbers_at_all_make_an_engine_or_an_error(
    layers: list[Any], parameters: int, shape: tuple[int, int, int]
) -> None:
    with little_memory(), contextlib.suppress(ValueError):
        assert engine(layers, parameters, shape).classes > 0
