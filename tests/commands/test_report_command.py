from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path

import pytest
import typer

from command_line import output_of
from fedward.base.validate import InvalidValue
from fedward.commands.report_command import report_command
from fedward.config import experiment as config
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from tiny_experiment import PLAIN

app = typer.Typer()
app.command()(report_command)
answer = partial(output_of, app)

EXPERIMENT = PLAIN.replace("rounds = 2", "rounds = 1").replace("users = 6", "users = 4")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report-command") / "fine"
    run_to_end(prepare(config.parse(EXPERIMENT)), path)
    return path


def test_a_page_is_written_and_named(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    assert str(out) in answer(finished, "--out", out)
    assert "<h2" in out.read_text()
    assert [file.name for file in out.parent.iterdir()] == ["page.html"]


def test_without_out_it_is_report_html_here(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer(finished)
    assert (tmp_path / "report.html").is_file()


def test_a_page_that_is_there_is_replaced(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("old")
    answer(finished, "--out", out)
    assert "old" not in out.read_text()[:100]


def test_several_runs_are_compared(finished: Path, tmp_path: Path) -> None:
    other = shutil.copytree(finished, tmp_path / "other")
    out = tmp_path / "page.html"
    answer(finished, other, "--out", out)
    assert "Side by side" in out.read_text()


def test_a_bad_run_among_good_ones_is_one_line_and_no_page(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    (tmp_path / "bad").mkdir()
    with pytest.raises(InvalidValue, match=r"bad is not a run directory: it holds no run.json"):
        answer(finished, tmp_path / "bad", "--out", out)
    assert not out.exists()


def test_the_same_run_twice_is_refused(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="each run may be given once"):
        answer(finished, finished.parent / "." / finished.name, "--out", tmp_path / "page.html")


def test_a_place_that_cannot_be_written_is_one_line(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="must be a file to write the report to, got a directory"):
        answer(finished, "--out", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValue, match=r"page.html cannot be written: "):
        answer(finished, "--out", tmp_path / "file" / "page.html")
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        with pytest.raises(InvalidValue, match=r"page.html cannot be written: Permission denied"):
            answer(finished, "--out", locked / "page.html")


def test_a_damaged_run_is_one_line(finished: Path, tmp_path: Path) -> None:
    run_directory = Path(shutil.copytree(finished, tmp_path / "run"))
    manifest = json.loads((run_directory / "run.json").read_text())
    del manifest["experiment"]["rounds"]
    (run_directory / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidValue, match=r"run\.json is damaged or not of a run: it does not say 'rounds'"):
        answer(run_directory, "--out", tmp_path / "page.html")


def test_a_record_for_an_auditor_is_written(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "audit.html" in answer(finished, "--for-audit")
    page = (tmp_path / "audit.html").read_text(encoding="utf8")
    assert "Sign-off" in page
    assert not (tmp_path / "report.html").exists()
