"""Runs, ledgers and certificates of the first version (commit fc34a4a) are read, resumed and checked."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

import fedward
from command_line import answer
from fedward.certificates.certificate_file import loads as load_certificate
from fedward.config.experiment import read
from fedward.privacy import ledger_file
from fedward.rundir.store import open_run
from fedward.studies.training.setup import prepare
from training_steps import run

RUNS = {
    "poisson": "zero-out",
    "declared": "add/remove",
    "fixed": "replace-one",
    "everyone": "zero-out",
    "staged": "replace-one",
    "insdp": "add/remove",
    "local_dp": "zero-out",
    "dopamine": "add/remove",
    "insdp_fedsgd": "add/remove",
    "looks": "local",
    "decay": "zero-out",
    "krum": "zero-out",
    "system": "zero-out",
}
"""Each run, and the adjacency that its guarantee is about when it goes on today."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(Path(__file__).parent / "older_runs" / "fc34a4a.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_a_finished_run_is_read_and_its_ledger_holds(name: str, unpacked: Path) -> None:
    record = fedward.load(unpacked / name)
    assert isinstance(record, fedward.RunRecord)
    assert record.last is not None
    assert record.last.accuracy is not None
    stored = json.loads((unpacked / name / "result.json").read_text())["guarantee"]
    guarantee = record.guarantee()
    assert guarantee is not None
    assert guarantee.epsilon == pytest.approx(stored["epsilon"] or float("inf"), rel=1e-9)
    # What it printed then may have been too much; what is printed of it now is not.
    assert guarantee.adjacency == RUNS[name]
    checks = ledger_file.verify((unpacked / name / "ledger.json").read_text())
    assert all(check.holds for check in checks), [check.problem for check in checks]
    assert len(checks) == (name not in ("krum", "insdp", "local_dp"))


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_goes_on_to_the_same_bits(name: str, unpacked: Path) -> None:
    setup = prepare(read(unpacked / f"{name}.toml"))
    path = unpacked / f"{name}-killed"
    with open_run(path) as directory:
        for _ in run(setup, directory):
            pass
        found = directory.result()
        assert found is not None
        result = found.to_json()
    finished = json.loads((unpacked / name / "result.json").read_text())
    assert result["guarantee"]["adjacency"] == RUNS[name]
    resumed, whole = (torch.load(each / "model.pt") for each in (path, unpacked / name))
    if name == "system":
        assert result["rounds"] == 3
        assert "1 more charged: reserved, not released" in result["statement"]
        return
    # Not charged twice: the third round was reserved already when the run was killed.
    spent, before = result["guarantee"]["epsilon"], finished["guarantee"]["epsilon"]
    assert spent == (before if before is None else pytest.approx(before, rel=1e-9))
    here, there = (json.loads((each / "run.json").read_text())["engine"] for each in (path, unpacked / name))
    for key, value in whole.items():
        if here == there and "went_on" not in json.loads((path / "run.json").read_text()):
            assert torch.equal(resumed[key], value)
        else:  # another processor rounds differently
            torch.testing.assert_close(resumed[key], value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["certified", "certified-confidence", "certified-declared"])
def test_a_certificate_holds_as_it_was_issued(
    name: str, unpacked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = unpacked / name / "certificate.json"
    checked = answer("certificate", "check", file, "--json", monkeypatch=monkeypatch, capsys=capsys)
    assert (checked.code, checked.json()["holds"]) == (0, True)
    certificate = load_certificate(file.read_text()).certificate
    assert certificate.setting.ledger.terms.divisor is None  # it did not say


def test_a_killed_certification_goes_on_to_the_same_replicas(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = unpacked / "certified-killed"
    arguments = (unpacked / "declared.toml", "-m", 40, "--score", "vote", "--out", path)
    done = answer("certify", *arguments, "--json", monkeypatch=monkeypatch, capsys=capsys)
    assert done.code == 0, done.err
    resumed, whole = (
        load_certificate((each / "certificate.json").read_text()).certificate
        for each in (path, unpacked / "certified-declared")
    )
    assert resumed.setting.ledger.terms.declared
    np.testing.assert_array_equal(resumed.bounds.top, whole.bounds.top)
    for one, other in zip(resumed.attacks, whole.attacks, strict=True):
        np.testing.assert_array_equal(one.k, other.k)


def test_inject_is_not_certified_again_without_a_declaration(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (unpacked / "poisson.toml", "-m", 40, "--score", "vote", "--out", unpacked / "certified")
    refused = answer("certify", *arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert refused.code == 2
    assert "add the line 'users = 6' to the table [privacy]" in " ".join(refused.err.split())
