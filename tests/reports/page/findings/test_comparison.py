from __future__ import annotations

import html
import json
import shutil
from pathlib import Path

import pytest

from fedward.reports.page import render
from fedward.reports.page.examples.triggered import triggered
from fedward.reports.page.findings.compared_training import ComparedTraining, trainings_of
from fedward.reports.page.findings.comparison import Comparison, compare_runs
from fedward.reports.page.kinds.part import Place
from fedward.reports.page.kinds.run_part import run_part
from fedward.rundir.run_record import Record, RunRecord, load
from fedward.studies.stored_data import Library


def compared(records: dict[str, Record]) -> Comparison:
    trainings: list[ComparedTraining] = []
    for number, (name, record) in enumerate(records.items()):
        trainings += trainings_of(record, name, f"run-{number}", len(trainings))
    return compare_runs(trainings)


def test_the_delta_of_one_training_stands_beside_its_epsilon(certified_run: Path, private_run: Path) -> None:
    found = compared({"many": load(certified_run), "one": load(private_run)})
    titles = [column.title for column in found.table.columns]
    place = titles.index("δ")
    many, one = found.table.rows
    assert many[place - 1].text.endswith("(one training)")
    assert (many[place].text, many[place].value) == ("0.01", 0.01)
    assert one[place].value == 0.01


@pytest.mark.usefixtures("edited_by_hand")
def test_initial_weights_are_said_beside_the_table(private_run: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(private_run, tmp_path / "run")
    manifest = json.loads((copied / "run.json").read_text())
    (copied / "run.json").write_text(
        json.dumps(manifest | {"caveat": "the initial weights a.pt are not covered"})
    )
    notes = compared({"one": load(private_run), "other": load(copied)}).notes
    assert "other: the initial weights a.pt are not covered." in notes
    assert not any(note.startswith("one:") for note in notes)


def test_the_headline_has_the_delta_and_no_money(private_run: Path, attacked_run: Path) -> None:
    private, attacked = load(private_run), load(attacked_run)
    assert isinstance(private, RunRecord)
    assert isinstance(attacked, RunRecord)
    part = run_part(private, Place(key="a", name="a"), triggered(private, Library(None)))
    assert "<dt>ε at δ = 0.01</dt>" in part
    part = run_part(attacked, Place(key="b", name="b"), triggered(attacked, Library(None)))
    assert part.lower().count("no privacy guarantee") == 1
    assert "<dt>ε" not in part
    assert "; the model's loss on them, which attackers want low, is " in html.unescape(part)


def test_a_bound_that_is_not_there_is_not_announced(private_run: Path, attacked_run: Path) -> None:
    bounded, unbounded = render([load(private_run)]), render([load(attacked_run)])
    assert "Norms of updates, and the bound, over rounds" in bounded
    assert "Norms of updates over rounds" in unbounded
    assert "and the bound, over rounds" not in unbounded
