from __future__ import annotations

import re
import shutil
from pathlib import Path

from fedward.reports.page import render
from fedward.rundir.run_record import load


def test_the_only_certificate_stands_before_the_details(private_run: Path, certified_run: Path) -> None:
    page = render([load(private_run), load(certified_run)])
    assert page.count('class="explorer"') == 1
    assert page.index('class="explorer"') < page.index('id="details"')
    assert 'What is certified about it <a href="#certified">stands above</a>' in page


def test_several_certificates_stand_with_their_runs(certified_run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(certified_run, tmp_path / "other"))
    page = render([load(certified_run), load(other)])
    assert page.count('class="explorer"') == 2
    assert page.index('class="explorer"') > page.index('id="details"')
    assert '<section id="certified"' not in page
    assert "Certified accuracy against k</title>" in page[: page.index('id="details"')]


def test_a_run_has_one_colour_in_every_chart(private_run: Path, attacked_run: Path) -> None:
    page = render([load(private_run), load(attacked_run)])
    before, first, second = re.split(r'<details class="run">', page)
    drawn = [set(re.findall(r'class="line (\w+) d', part)) - {"ref"} for part in (before, first, second)]
    assert drawn == [{"c0", "c1"}, {"c0"}, {"c1"}]


def test_runs_without_a_curve_are_named_at_the_chart(
    private_run: Path, attacked_run: Path, certified_run: Path
) -> None:
    page = render([load(each) for each in (private_run, attacked_run, certified_run)])
    assert "Not in this chart: certified (no accuracy over rounds was measured)." in page


def test_a_run_alone_is_not_folded(private_run: Path) -> None:
    page = render([load(private_run)])
    assert '<details class="run">' not in page
    assert "Side by side" not in page
    assert page.count("<h1>") == 1


def test_no_guarantee_is_one_small_line(attacked_run: Path) -> None:
    page = render([load(attacked_run)])
    assert page.count("No privacy guarantee") == 1
    assert '<section class="promise' not in page
