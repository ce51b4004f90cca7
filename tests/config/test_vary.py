from __future__ import annotations

from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.vary import Axis, variants

CONTENT: dict[str, Any] = {
    "rounds": 3,
    "attack": {"data": [{"name": "a", "fraction": 1.0}, {"name": "b"}], "model": []},
}


def test_a_number_is_a_place_in_a_list() -> None:
    found = variants(CONTENT, [Axis.parse("attack.data.0.fraction=0.2,0.4"), Axis.parse("attack.data.1.x=7")])
    assert list(found) == ["fraction=0.2, x=7", "fraction=0.4, x=7"]
    data = found["fraction=0.4, x=7"]["attack"]["data"]
    assert data == [{"name": "a", "fraction": 0.4}, {"name": "b", "x": 7}]
    assert CONTENT["attack"]["data"][0]["fraction"] == 1.0


def test_a_whole_place_may_vary() -> None:
    (found,) = variants(CONTENT, [Axis(key="attack.data.1", values=({"name": "c"},))]).values()
    assert found["attack"]["data"][1] == {"name": "c"}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("attack.data.2.fraction", "2 must be a place in a list of 2"),
        ("attack.data.-1.fraction", "-1 must be a place"),
        ("attack.data.x", "x must be a place"),
        ("attack.model.0", "0 must be a place in a list of 0"),
        ("rounds.x", "x is not in a table of the file"),
        ("rounds.x.y", "x is not in a table of the file"),
    ],
)
def test_places_that_are_not_there_are_named(key: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        variants(CONTENT, [Axis(key=key, values=(1,))])


def test_a_table_that_is_missing_is_made() -> None:
    (found,) = variants({"rounds": 1}, [Axis.parse("privacy.delta=0.1")]).values()
    assert found == {"rounds": 1, "privacy": {"delta": 0.1}}
