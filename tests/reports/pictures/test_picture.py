from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.reports.pictures.picture import Picture, PicturePoint, save_with_numbers
from fedward.reports.pictures.picture_style import MARKS, STYLES
from fedward.reports.pictures.sketch import Sketch

ENDINGS = {".png": b"\x89PNG", ".pdf": b"%PDF-", ".svg": b"<?xml"}


def curves(style: str = "screen", lines: int = 2) -> Picture:
    sketch = Sketch(["accuracy", "ε"], (5, 4), style)
    for panel in sketch.panels:
        for number in range(lines):
            panel.line(
                f"line {number}", [1, 2], [0.1, 0.2 + number / 7], [0.05, 0.1], [0.2, 1], number=number
            )
        panel.label(x="round", y="share")
        panel.legend()
    return sketch.picture("mean of 3 seeds")


def named(axes: Any) -> list[Any]:
    """The lines of a panel without the ends of intervals."""
    return [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]


@pytest.mark.parametrize(("ending", "begins"), ENDINGS.items())
def test_a_file_is_what_its_name_says_and_the_same_every_time(
    tmp_path: Path, ending: str, begins: bytes
) -> None:
    files = [tmp_path / f"{name}{ending}" for name in "ab"]
    for file in files:
        curves().save(file)
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(begins)
    assert first == second
    assert b"CreationDate" not in first
    assert b"<dc:date>" not in first
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(file.name for file in files)


def test_letters_stay_letters(tmp_path: Path) -> None:
    picture = curves("paper")
    picture.save(tmp_path / "x.svg")
    picture.save(tmp_path / "x.pdf")
    assert ">share</text>" in (tmp_path / "x.svg").read_text(encoding="utf8")
    content = (tmp_path / "x.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


@pytest.mark.parametrize("name", ["x.jpg", "x", "x.PNG.gz"])
def test_another_ending_is_refused_before_anything_is_drawn(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = curves()
    monkeypatch.setattr(picture.figure, "savefig", lambda *_: pytest.fail("it was drawn"))
    with pytest.raises(InvalidValue, match=rf"must end in \.png, \.pdf, \.svg, got '{re.escape(name)}'"):
        picture.save(tmp_path / name)
    with pytest.raises(InvalidValue, match="directory that exists"):
        picture.save(tmp_path / "no" / "x.png")
    assert not list(tmp_path.iterdir())


def test_every_point_that_is_drawn_is_a_row_with_all_digits(tmp_path: Path) -> None:
    picture = curves()
    assert picture.data[0] == PicturePoint(chart="accuracy", line="line 0", x=1, y=0.1, low=0.05, high=0.2)
    drawn = [
        row for axes in picture.figure.axes for line in named(axes) for row in line.get_xydata().tolist()
    ]
    assert [(point.x, point.y) for point in picture.data] == list(map(tuple, drawn))
    picture.to_csv(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["y"]) for row in rows] == [point.y for point in picture.data]
    assert {row["chart"] for row in rows} == {"accuracy", "ε"}
    with pytest.raises(InvalidValue, match=r"\.csv"):
        picture.to_csv(tmp_path / "x.txt")


def test_numbers_go_beside_a_picture(tmp_path: Path) -> None:
    assert save_with_numbers(curves(), tmp_path / "x.pdf") == tmp_path / "x.csv"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.csv", "x.pdf"]


@pytest.mark.parametrize(("style", "width"), [("paper", 3.3), ("paper-wide", 6.9)])
def test_a_picture_for_a_paper_fits_its_column(style: str, width: float) -> None:
    picture = curves(style)
    picture.figure.draw_without_rendering()
    assert picture.figure.get_figwidth() == width
    for axes in picture.figure.axes:
        assert not axes.get_title()
        legend = axes.get_legend()
        assert legend is not None
        letters = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *legend.get_texts()]
        assert {text.get_fontsize() for text in letters} == {8.0}
        # Names of lines hide none of them, and nothing is cut.
        assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
        inside = picture.figure.bbox
        assert legend.get_window_extent().x0 >= inside.x0
        assert legend.get_window_extent().y0 >= inside.y0 - 1
    assert picture.caption == "(a) accuracy; (b) ε; mean of 3 seeds."


def lightness(colour: str) -> float:
    """L* of CIE 1976, from 0 to 100."""
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in _rgb(colour)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def _rgb(colour: str) -> list[float]:
    return [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def test_lines_can_be_told_apart_without_colour() -> None:
    lines = named(curves("paper", lines=4).figure.axes[0])
    greys = sorted(lightness(str(line.get_color())) for line in lines)
    assert min(np.diff(greys)) > 10
    assert len({line.get_linestyle() for line in lines}) == 4
    assert len({str(line.get_marker()) for line in lines}) == 4


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(InvalidValue, match="style must be one of"):
        curves("papers")


def test_a_picture_is_one_line_of_text() -> None:
    assert repr(curves()) == "Picture(accuracy, ε: 8 points)"


@pytest.mark.parametrize("style", STYLES)
def test_thirty_lines_differ_in_colour_or_mark(style: str) -> None:
    colours = STYLES[style].colours
    pairs = {(colours[number % len(colours)], MARKS[number % len(MARKS)]) for number in range(30)}
    assert len(pairs) == 30
