from __future__ import annotations

from pathlib import Path

from fedward.reports.pictures.arena_picture import draw_arena
from fedward.rundir.arena_record import ArenaAbout, ArenaRecord, AttackAbout, DefenceAbout, Standing, Worst
from fedward.rundir.results import Mean


def record(success: bool) -> ArenaRecord:
    worst = Worst(attack="a", value=0.5, low=0.4, high=0.6)
    standings = tuple(
        Standing(
            data="",
            defence=name,
            attacks=1,
            tried=1,
            epsilon=epsilon,
            accuracy=Mean(mean=0.9, low=0.8, high=1.0),
            worst_accuracy=worst,
            worst_success=worst if success else None,
        )
        for name, epsilon in (("krum", None), ("noise", 3.5))
    )
    about = ArenaAbout(
        attacks=[AttackAbout(name="no attack"), AttackAbout(name="a")],
        defences=[DefenceAbout(name=name, preset="") for name in ("krum", "noise")],
        data=[""],
        seeds=[1],
        refused=[],
    )
    return ArenaRecord(path=Path("arena"), about=about, cells=(), standings=standings, seconds={})


def test_a_defence_with_an_epsilon_is_marked_and_says_it() -> None:
    picture = draw_arena(record(success=True))
    assert picture is not None
    assert {(point.chart, point.line, point.x, point.y) for point in picture.data} == {
        ("success of the worst attack", "krum", 0.5, 0.9),
        ("success of the worst attack", "noise (ε = 3.5)", 0.5, 0.9),
        ("accuracy under the worst attack", "krum", 0.5, 0.9),
        ("accuracy under the worst attack", "noise (ε = 3.5)", 0.5, 0.9),
    }
    marks = [line for line in picture.figure.axes[0].lines if str(line.get_marker()) in "os"]
    faces = [line.get_markerfacecolor() for line in marks]
    assert faces[0] == "white"
    assert faces[1] != "white"


def test_what_was_not_measured_is_not_drawn() -> None:
    picture = draw_arena(record(success=False), "paper")
    assert picture is not None
    assert {point.chart for point in picture.data} == {"accuracy under the worst attack"}
    empty = record(success=True)
    assert draw_arena(ArenaRecord(**{**vars(empty), "standings": ()})) is None
