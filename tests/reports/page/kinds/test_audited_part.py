from __future__ import annotations

from pathlib import Path

import pytest

import fedward
from fedward.base.validate import InvalidValue
from fedward.reports.page.kinds.audited_part import epsilon_rows
from fedward.reports.page.page import render
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.run_record import load
from tiny_experiment import TEXT


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> AuditRecord:
    folder = tmp_path_factory.mktemp("audited")
    (folder / "first.toml").write_text(TEXT)
    fedward.audit(folder / "first.toml", runs=100, out=folder / "run", quiet=True)
    found = load(folder / "run")
    assert isinstance(found, AuditRecord)
    return found


def test_the_page_says_what_was_promised_what_was_measured_and_that_a_pass_proves_nothing(
    run: AuditRecord,
) -> None:
    page = render([run])
    assert run.result is not None
    assert run.result.sentence in page
    assert "a pass proves nothing" in page
    assert "Promised and measured ε on one axis" in page
    assert "fedward audit run.toml --mode=mechanism --see=rounds --runs=100 --error=0.05" in page


def test_the_axis_has_every_accountant_every_bound_and_the_estimate(run: AuditRecord) -> None:
    assert run.result is not None
    rows = {row.name: row for row in epsilon_rows(run.result)}
    assert {
        "promised, pld",
        "promised, rdp",
        "measured, error rates",
        "measured, noise family",
    } <= rows.keys()
    assert rows["promised, pld"].text.startswith("≤ ")
    assert rows["measured, noise family"].text.startswith("≥ ")
    assert rows["promised, pld"].epsilon < rows["promised, rdp"].epsilon


def test_a_run_that_is_under_way_has_a_page_too(run: AuditRecord) -> None:
    begun = AuditRecord(path=run.path, manifest=run.manifest, stored=3)
    page = render([begun])
    assert "3 parts of the trainings are stored" in page
    assert "on one axis" not in page


def test_a_record_shows_itself(run: AuditRecord, tmp_path: Path) -> None:
    record = fedward.load(run.path)
    assert isinstance(record, AuditRecord)
    assert "audit, mechanism" in repr(record)
    assert [row["kind"] for row in record.table_rows()].count("at least") == 2
    record.plot().save(tmp_path / "audit.png")
    record.save(tmp_path / "audit.json")
    record.save(tmp_path / "audit.html")
    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_drawn_before_the_end(run: AuditRecord) -> None:
    from fedward.reports.pictures.record_picture import picture_of

    with pytest.raises(InvalidValue, match="nothing was measured"):
        picture_of(AuditRecord(path=run.path, manifest=run.manifest))
