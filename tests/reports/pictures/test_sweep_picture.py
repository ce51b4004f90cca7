from __future__ import annotations

from typing import Any

import pytest

from fedward.reports.pictures.sweep_picture import Combination, draw
from fedward.rundir.results import Mean


def combination(values: dict[str, Any], mean: float, seeds: int = 2) -> Combination:
    labels = {name: str(value) for name, value in values.items()}
    accuracy = Mean(mean=mean, low=mean - 0.1, high=mean + 0.1)
    return Combination(labels=labels, values=values, seeds=seeds, measures={"accuracy": accuracy})


def test_means_are_drawn_against_the_first_axis_of_numbers() -> None:
    found = [combination({"rule": r, "z": z}, z / 10) for r in ("krum", "mean") for z in (2, 1)]
    picture = draw(found, "noise")
    assert picture is not None
    points = [(point.line, point.x, point.y, point.low) for point in picture.data]
    assert points == [
        ("rule=krum", 1.0, 0.1, 0.0),
        ("rule=krum", 2.0, 0.2, 0.1),
        ("rule=mean", 1.0, 0.1, 0.0),
        ("rule=mean", 2.0, 0.2, 0.1),
    ]
    assert picture.figure.axes[0].get_xlabel() == "z"
    assert picture.figure.get_suptitle() == "noise: mean of 2 seeds, 95 % interval"


def test_names_become_bars() -> None:
    picture = draw(
        [combination({"rule": "krum"}, 0.5), combination({"rule": "mean"}, 0.75)], "rules", "paper"
    )
    assert picture is not None
    assert [(point.x, point.y) for point in picture.data] == [("krum", 0.5), ("mean", 0.75)]
    assert [patch.get_height() for patch in picture.figure.axes[0].patches] == [0.5, 0.75]  # type: ignore[attr-defined]
    assert not picture.figure.get_suptitle()


@pytest.mark.parametrize("value", [True, None, float("inf"), "one"])
def test_what_is_no_number_is_no_scale(value: Any) -> None:
    picture = draw([combination({"x": value}, 0.5), combination({"x": 1}, 0.75)], "t")
    assert picture is not None
    assert len(picture.figure.axes[0].patches) == 2


def test_nothing_measured_is_nothing_drawn() -> None:
    assert draw([Combination(labels={"z": "1"}, values={"z": 1}, seeds=1, measures={})], "t") is None
