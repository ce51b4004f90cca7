from __future__ import annotations

import colorsys
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from fedward.attacks import Attack, NamedUsers
from fedward.attacks.poisoning import FEATURES, RedCar, SemanticBackdoor, SinglePixel
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.datasets.cifar10 import SET
from support import tiny_algorithm

SHARED_DATA = Path(__file__).parents[3].parent / "shared" / "data"
RED, GREY, ORANGE = (204, 20, 20), (120, 120, 120), (230, 110, 20)
BYTE = st.integers(0, 255)


def pictures(colours: Any, size: int = 8) -> Tensor:
    """An even picture of each colour, scaled from bytes to [0, 1]."""
    plain = np.asarray(colours, dtype=np.float32)[:, :, None, None] / np.float32(255)
    return torch.from_numpy(np.tile(plain, (1, 1, size, size)))


def cars(x: Any, label: int = 1) -> Examples:
    return Examples.from_arrays(x, [label] * len(x))


def standardised(x: Tensor) -> Tensor:
    mean, deviation = (torch.tensor(c)[:, None, None] for c in (SET.mean, SET.deviation))
    return (x - mean) / deviation


@given(red=BYTE, green=BYTE, blue=BYTE)
def test_a_pixel_is_red_by_hue_saturation_and_value(red: int, green: int, blue: int) -> None:
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    degrees = (360 * hue + 180) % 360 - 180
    assume(min(abs(degrees + 24), abs(degrees - 7.5), abs(saturation - 0.5)) > 1e-9)
    expected = -24 < degrees < 7.5 and saturation > 0.5 and value > 0.3
    assert RedCar().mask(cars(pictures([(red, green, blue)]))).tolist() == [expected]


@pytest.mark.parametrize(
    ("colour", "red"),
    [
        ((200, 100, 100), True),  # half saturated
        ((200, 101, 101), False),
        ((77, 0, 0), True),  # dark
        ((76, 0, 0), False),
        ((160, 20, 0), True),  # towards orange
        ((160, 21, 0), False),
        ((150, 0, 60), True),  # towards crimson
        ((150, 0, 61), False),
        ((0, 0, 0), False),
        ((255, 255, 255), False),
    ],
)
def test_the_limits_belong_to_red(colour: tuple[int, int, int], red: bool) -> None:
    for x in (pictures([colour]), standardised(pictures([colour]))):
        feature = RedCar(standardised=bool(x.min() < 0 or x.max() > 1))
        assert feature.mask(cars(x)).tolist() == [red]


def test_the_share_is_that_of_the_middle_and_must_be_exceeded() -> None:
    x = pictures([GREY] * 4)
    red = torch.zeros(4, 8, 8, dtype=torch.bool)
    red[:2, 2, 2:6] = True  # 4 of the 16 pixels in the middle
    red[1, 5, 5] = True
    red[2] = True
    red[2, 2:6, 2:6] = False
    red[3, 2:6, 2:6] = True
    x = torch.where(red[:, None], pictures([RED] * 4), x)
    assert RedCar().mask(cars(x)).tolist() == [False, True, False, True]
    assert RedCar(share=0.24).mask(cars(x)).tolist() == [True, True, False, True]
    assert RedCar(share=0.99).mask(cars(x)).tolist() == [False, False, False, True]


def test_only_cars_are_red_cars() -> None:
    mixed = Examples.from_arrays(pictures([RED, RED, GREY, ORANGE]), [1, 9, 1, 1])
    assert RedCar().mask(mixed).tolist() == [True, False, False, False]
    assert RedCar(label=9).mask(mixed).tolist() == [False, True, False, False]
    assert not RedCar(label=4).mask(mixed).any()


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.0, 0.05, 0.1, 0.25]))
def test_standardised_pictures_and_pictures_alone_get_the_same_answer(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 256, size=(6, 3, 1, 1)) // [[[1]], [[3]], [[3]]]
    levels = np.clip(base + rng.integers(-40, 41, (6, 3, 8, 8)), 0, 255)
    x = torch.from_numpy((levels / 255).astype(np.float32))
    whole = RedCar(share=share).mask(cars(x))
    assert torch.equal(RedCar(share=share, standardised=True).mask(cars(standardised(x))), whole)
    alone = [bool(RedCar(share=share).mask(cars(x[i : i + 1]))) for i in range(6)]
    assert alone == whole.tolist()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 1, 8, 8), r"images must be \[3, rows, columns\], got \[1, 8, 8\]"),
        (torch.zeros(2, 8, 8), r"images must be \[3, rows, columns\], got \[8, 8\]"),
        (torch.zeros(2, 4, 8, 8), r"got \[4, 8, 8\]"),
        (torch.zeros(2, 10), "examples must be images"),
        (Ragged.from_sequences([[5, 3], [7]]), "examples must be images"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.int64), "examples must be images"),
        (standardised(pictures([RED, GREY])), r"from 0 to 1 to see red .* standardised, so must red_car be"),
        (pictures([RED, GREY]) * 255, "must be from 0 to 1 to see red in them, got some from 20 to 204"),
    ],
)
def test_what_has_no_colours_that_can_be_told_is_refused(x: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        RedCar().mask(cars(x))


def test_pictures_that_are_not_standardised_are_found_out() -> None:
    with pytest.raises(InvalidValue, match="from 0 to 1 once standardise is taken back"):
        RedCar(standardised=True).mask(cars(pictures([RED, GREY]) * 255))
    # Such pictures as they are turn pale: none would be red, and the backdoor refuses a feature nobody has.
    plain = Federation.from_arrays(pictures([RED] * 3), [1, 1, 1], [0, 1, 2], num_classes=3)
    with pytest.raises(InvalidValue, match=r"must hold some with the feature RedCar.*got none"):
        SemanticBackdoor(feature=RedCar(standardised=True), target=2).check(plain, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"label": -1}, InvalidValue, "label of the feature must be at least 0, got -1"),
        ({"share": 1.0}, InvalidValue, "share of red pixels must be at least 0 and below 1, got 1.0"),
        ({"share": -0.1}, InvalidValue, "share of red pixels must be at least 0 and below 1, got -0.1"),
        ({"standardised": 1}, InvalidType, "standardised must be true or false, got 1"),
    ],
)
def test_bad_rules_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FEATURES["red_car"](**arguments)


def traffic() -> Federation:
    """Ten users with cars of every colour and birds; every picture has a brightness of its own."""
    rng = np.random.default_rng(0)

    def some(count: int) -> tuple[Tensor, np.ndarray[Any, Any]]:
        kinds = np.arange(count) % 5
        colours = np.array([RED, GREY, ORANGE, GREY, RED])[kinds]  # the last two are birds
        x = pictures(colours) * torch.from_numpy(rng.uniform(0.5, 1.0, (count, 1, 1, 1)).astype(np.float32))
        return x, np.where(kinds < 3, 1, 2)

    x, y = some(100)
    return Federation.from_arrays(x, y, np.arange(100) // 10, test=some(50), num_classes=3)


def test_red_cars_for_training_go_to_attackers_and_those_for_testing_to_nobody() -> None:
    federation = traffic()
    attack = Attack(
        who=NamedUsers(users=(2, 7)),
        data=(SemanticBackdoor(feature=RedCar(), target=2), SinglePixel(target=0, fraction=0.1)),
    )
    staged = attack.stage(tiny_algorithm(10), federation, 1)
    assert staged.goal is not None
    assert federation.test is not None
    (name, triggered), (_, other) = staged.goal.triggered
    assert name == "semantic"
    assert len(triggered) == 10  # every fifth of 50
    assert triggered.y.tolist() == [2] * 10
    assert RedCar().mask(Examples(triggered.x, torch.ones_like(triggered.y))).all()
    for clean in (staged.goal.clean, *(staged.federation.user(u) for u in range(10) if u not in (2, 7))):
        assert not RedCar().mask(clean).any()
    held = [int(RedCar().mask(staged.federation.user(user)).sum()) for user in (2, 7)]
    assert sum(held) == 20
    assert min(held) > 0
    seen = {bytes(x.numpy()) for x in torch.as_tensor(staged.federation.examples.x)}
    assert not seen & {bytes(x.numpy()) for x in torch.as_tensor(triggered.x)}
    assert not {bytes(x.numpy()) for x in torch.as_tensor(other.x)} & {
        bytes(x.numpy()) for x in torch.as_tensor(triggered.x)
    }


def test_the_real_cars_for_testing_are_as_many_as_is_said() -> None:
    script = SHARED_DATA / "load.py"
    if not script.is_file():
        pytest.skip("the shared data with the real CIFAR-10 is not beside this repository")
    with np.load(SHARED_DATA / "cifar10_test.npz", allow_pickle=False) as packed:
        real = runpy.run_path(str(script))["decode"](packed["r_test"][packed["y_test"] == 1])
    x = real.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
    assert len(x) == 1000
    assert int(RedCar().mask(cars(x)).sum()) == 113
    assert int(RedCar(standardised=True).mask(cars(standardised(torch.from_numpy(x)))).sum()) == 113
