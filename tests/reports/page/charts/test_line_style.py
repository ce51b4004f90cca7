from __future__ import annotations

import re

from fedward.reports.page.charts.line_style import LineStyle


def test_forty_lines_can_be_told_apart_without_colour_alone() -> None:
    assert len({LineStyle.numbered(number).classes for number in range(40)}) == 40
    without_colour = {re.sub(r"\bc\d", "", LineStyle.numbered(number).sample) for number in range(8)}
    assert len(without_colour) == 8


def test_lines_of_one_run_differ_in_dashes_and_marks() -> None:
    styles = [LineStyle(colour=2, shape=shape) for shape in range(5)]
    assert {style.hue for style in styles} == {"c2"}
    assert len({style.classes for style in styles}) == len({style.sample for style in styles}) == 5
