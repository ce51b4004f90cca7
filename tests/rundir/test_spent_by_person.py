"""What a run promises to a person with several devices, in Python and in its report."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedward
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config import experiment as config
from fedward.rundir.run_record import RunRecord, load
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from tiny_experiment import CONTENT


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("person") / "run"
    run_to_end(prepare(config.from_content(CONTENT)), path)
    return path


def record_of(path: Path) -> RunRecord:
    record = load(path)
    assert isinstance(record, RunRecord)
    return record


def test_a_person_gets_what_the_ledger_says_of_a_group(run: Path) -> None:
    record = record_of(run)
    one, three = record.guarantee(), record.guarantee(3)
    assert one is not None
    assert three is not None
    assert record.guarantee(1) == one
    assert record.ledger is not None
    assert three.epsilon == record.ledger.guarantee(one.delta, "pld", 3).epsilon
    assert three.epsilon > one.epsilon
    assert "person level, up to 3 devices each" in str(three)


def test_the_report_says_it_in_a_box_of_its_own(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    fedward.report(run, out=page, devices_per_person=3)
    text = page.read_text()
    assert "What it promises to a person with several devices" in text
    assert str(record_of(run).guarantee(3)) in text
    fedward.report(run, out=page)
    assert "several devices" not in page.read_text()


def test_cohorts_of_a_fixed_size_have_no_number_and_a_reason(tmp_path: Path) -> None:
    algorithm = CONTENT["algorithm"] | {"sampler": {"name": "fixed_size", "size": 5}}
    content = CONTENT | {"algorithm": algorithm}
    run_to_end(prepare(config.from_content(content)), tmp_path / "run")
    found = record_of(tmp_path / "run").guarantee(2)
    assert found is not None
    assert not found.private
    assert "fixed-size" in found.reason


def test_mistakes_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="devices per person must be at least 1, got 0"):
        fedward.report(run, out=tmp_path / "report.html", devices_per_person=0)
    with pytest.raises(InvalidType, match="devices per person must be a whole number"):
        fedward.report(run, out=tmp_path / "report.html", devices_per_person=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="the document for an auditor is about single users"):
        fedward.report(run, out=tmp_path / "audit.html", for_audit=True, devices_per_person=2)
