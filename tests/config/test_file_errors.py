from __future__ import annotations

from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from tiny_experiment import CONTENT, changed


def said(**changes: Any) -> list[str]:
    with pytest.raises(InvalidValue) as error:
        from_content(changed(CONTENT, **changes), "a.toml")
    title, *lines = str(error.value).splitlines()
    assert title == "a.toml is not a valid experiment:"
    return [line.strip() for line in lines]


def test_what_may_be_one_type_or_another_is_one_line() -> None:
    assert said(algorithm__clip_bound="abc", data__users="x", rounds=1.5) == [
        "rounds must be a whole number, got 1.5",
        "data.users must be a whole number, got 'x'",
        "algorithm.clip_bound must be a number or a list in brackets, got 'abc'",
    ]


def test_what_is_wrong_within_a_list_is_all_that_is_said_of_it() -> None:
    assert said(algorithm__clip_bound=[1.0, "abc"]) == ["algorithm.clip_bound.1 must be a number, got 'abc'"]


def test_a_misspelt_sweep_is_offered_its_name() -> None:
    (line,) = said(swep={"seeds": 2})
    assert line.startswith("unknown key 'swep'; did you mean 'sweep'?")
    assert line.endswith("compute, sweep, arena)")
