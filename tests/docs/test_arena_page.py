from __future__ import annotations

from pathlib import Path

import page_toml
from fedward.config.arena_section import read_arena
from fedward.reports.terminal.arena_table import _accuracies, _successes
from fedward.rundir.arena_record import ArenaAbout, ArenaRecord
from fedward.studies.arena.arena_study import plan_arena

PAGE = (Path(__file__).parents[2] / "docs" / "arena.md").read_text(encoding="utf8")


def test_the_kinds_of_data_on_the_page_fit_together() -> None:
    *_, (_, content) = page_toml.files_of(PAGE)
    content["arena"]["seeds"] = 1
    study = plan_arena(read_arena(content))
    assert study.about.data == ["alike", "dirichlet", "two_classes_each", "sizes"]
    assert not study.about.refused
    assert len(study.chosen) == 4 * 2 * 2


def test_every_column_is_explained() -> None:
    about = ArenaAbout(attacks=[], defences=[], data=[""], seeds=[1], refused=[])
    empty = ArenaRecord(path=Path("x"), about=about, cells=(), standings=(), seconds={})
    for headings, _ in (_accuracies(empty, False), _successes(empty, False)):
        for heading in headings:
            assert heading in PAGE.split("## How to read it")[1].split("\n- ")[0], heading
