from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from fedward.base import validate
from fedward.base.validate import InvalidType, InvalidValue

NUMBERS: list[Callable[[str, Any], Any]] = [
    validate.real,
    validate.positive,
    validate.non_negative,
    validate.rate,
    validate.open_unit,
    validate.half_open_unit,
]


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_check_lets_nan_or_infinity_through(check: Callable[[str, Any], Any], value: float) -> None:
    with pytest.raises(InvalidValue, match="thing must be"):
        check("thing", value)


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [True, "1", None, 1j, [1.0]])
def test_no_check_takes_something_else_for_a_number(check: Callable[[str, Any], Any], value: object) -> None:
    with pytest.raises(InvalidType, match="thing must be a number"):
        check("thing", value)


@pytest.mark.parametrize(
    ("check", "allowed", "refused"),
    [
        (validate.real, [-1, 0, 1.5], []),
        (validate.positive, [1e-300, 1, 1e300], [0, -1]),
        (validate.non_negative, [0, 1], [-1e-300]),
        (validate.rate, [1e-9, 1], [0, 1.0000001, -0.5]),
        (validate.open_unit, [1e-9, 0.5], [0, 1]),
        (validate.half_open_unit, [0, 0.9], [1, -0.1]),
    ],
)
def test_each_check_draws_its_line(
    check: Callable[[str, Any], Any], allowed: list[float], refused: list[float]
) -> None:
    for value in allowed:
        assert check("thing", value) == value
    for value in refused:
        with pytest.raises(InvalidValue, match=f"got {value}"):
            check("thing", value)


@pytest.mark.parametrize("value", [1.0, True, "3", None])
def test_a_whole_number_is_an_integer(value: object) -> None:
    with pytest.raises(InvalidType, match="rounds must be a whole number"):
        validate.whole("rounds", value)  # type: ignore[arg-type]


def test_a_whole_number_has_a_least_value() -> None:
    assert validate.whole("rounds", 1) == 1
    with pytest.raises(InvalidValue, match="rounds must be at least 1, got 0"):
        validate.whole("rounds", 0)


def test_an_unknown_name_comes_with_the_nearest_known_one() -> None:
    with pytest.raises(InvalidValue, match="did you mean 'moments'"):
        validate.one_of("accountant", "moment", ["moments", "rdp"])
    with pytest.raises(InvalidValue, match=r"got 'xyzzy'$"):
        validate.one_of("accountant", "xyzzy", ["moments", "rdp"])
    with pytest.raises(InvalidType):
        validate.one_of("accountant", 3, ["moments", "rdp"])  # type: ignore[arg-type]
