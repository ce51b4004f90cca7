from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from fedward.reports.page.charts.axis import Axis
from fedward.reports.page.charts.chart import HEIGHT, WIDTH, Chart, Line


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.booleans(), st.booleans())
def test_every_value_and_every_tick_lies_on_the_axis(
    values: list[float], whole: bool, from_zero: bool
) -> None:
    axis = Axis.around(values, whole=whole, from_zero=from_zero)
    for value in (*values, *axis.ticks):
        assert -1e-6 <= axis.place(value) <= 1 + 1e-6
    assert len(axis.ticks) <= 12
    if whole:
        assert all(tick == int(tick) for tick in axis.ticks)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1))
def test_every_value_lies_on_a_logarithmic_axis(values: list[float]) -> None:
    axis = Axis.around(values, log=True)
    assert axis.ticks
    for value in (*values, *axis.ticks):
        assert -1e-6 <= axis.place(value) <= 1 + 1e-6


def a_chart(**changed: object) -> Chart:
    lines = (
        Line(name="a <b>", points=((1.0, 0.2), (2.0, 0.9))),
        Line(name="nothing", points=()),
        Line(name="stairs", points=((0.0, 1.0), (1.0, 0.5), (3.0, 0.0)), stairs=True),
    )
    return Chart(**{"key": "k", "title": "t & t", "x": "round", "y": "share", "lines": lines} | changed)  # type: ignore[arg-type]


def test_a_picture_is_xml_and_all_of_it_lies_inside() -> None:
    svg = ET.fromstring(str(a_chart().svg()))
    for path in svg.iter("path"):
        for step in path.get("d", "").replace("M", "L").split("L")[1:]:
            if "V" in step or "H" in step or "v" in step:
                continue
            x, y = map(float, step.split())
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
    titles = [title.text for title in svg.iter("title")]
    assert titles[0] == "t & t"
    assert "a <b>, round 2: 0.9" in titles
    assert "nothing" not in str(a_chart().svg())
    assert [name for name, _, _ in a_chart().legend()] == ["a <b>", "stairs"]


def test_the_table_has_every_number_of_the_picture() -> None:
    table = a_chart(percent=True).table()
    assert [column.title for column in table.columns] == ["round", "a <b>", "stairs"]
    texts = [[cell.text.replace("\xa0", " ") for cell in row] for row in table.rows]
    assert texts == [
        ["0", "", "100.0 %"],
        ["1", "20.0 %", "50.0 %"],
        ["2", "90.0 %", ""],
        ["3", "", "0.0 %"],
    ]


def test_the_legend_has_the_values_where_the_chart_rests() -> None:
    assert [value for _, _, value in a_chart(percent=True).legend()] == ["90.0\xa0%", "0.0\xa0%"]
    assert a_chart().resting_place() == ""  # its lines end apart
    resting = a_chart(percent=True, rest=1.0)
    assert [value for _, _, value in resting.legend()] == ["20.0\xa0%", "50.0\xa0%"]
    assert resting.resting_place() == "round: 1"


def test_all_lines_of_a_run_have_its_colour_and_a_reference_has_none() -> None:
    bound = Line(name="bound", points=((1.0, 0.5),), reference=True)
    chart = a_chart(lines=(*a_chart().lines, bound)).of_run(3)
    drawn = re.findall(r'<path class="line (\S+) (\S+)"', str(chart.svg()))
    assert [colour for colour, _ in drawn] == ["c3", "c3", "ref"]
    assert len({dashes for _, dashes in drawn}) == 3


def test_variants_have_colours_of_their_own() -> None:
    chart = a_chart().of_variants({"a <b>": 5, "stairs": 2})
    assert re.findall(r'<path class="line (\S+)', str(chart.svg())) == ["c5", "c2"]


def test_large_differences_are_drawn_on_a_logarithmic_scale() -> None:
    points = ((1.0, 0.5), (2.0, 500.0))
    assert "logarithmic" in a_chart(lines=(Line(name="norm", points=points),), log=True).svg()
    points = ((1.0, 0.5), (2.0, 5.0))
    assert "logarithmic" not in a_chart(lines=(Line(name="norm", points=points),), log=True).svg()
    points = ((1.0, 0.0), (2.0, 5000.0))
    assert "logarithmic" not in a_chart(lines=(Line(name="norm", points=points),), log=True).svg()
