from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from typer.testing import CliRunner

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import certify
from fedward.certificates.certificate_file import dumps
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.setting import Setting
from fedward.commands.certificate_check import check
from fedward.privacy import Ledger

app = typer.Typer()
app.command()(check)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A small certificate and its scores on disk."""
    scores = np.random.default_rng(0).dirichlet([30, 2, 1], (40, 5))
    replicas = Replicas(scores=scores, numbers=np.arange(40), seed=1, labels=np.array([0, 0, 0, 0, 1]))
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    setting = Setting(
        ledger=ledger.charged(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3),
        users=50,
        confidence=Confidence(looks=(40,)),
        delta=1e-3,
        initial_model="a1",
        data="b2",
        threats=("inject",),
    )
    file = tmp_path / "certificate.json"
    (tmp_path / "scores.npz").write_bytes(replicas.to_bytes())
    file.write_text(dumps(certify(setting, replicas), "scores.npz"), encoding="utf8")
    return file


def run(file: Path, *options: str) -> Any:
    return CliRunner().invoke(app, [str(file), *options])


def test_a_good_certificate_holds(certificate: Path) -> None:
    result = run(certificate)
    assert result.exit_code == 0
    assert "the certificate holds" in result.output
    assert "not a private release" in result.output
    assert "certified accuracy" in result.output
    answer = json.loads(run(certificate, "--json").output)
    assert answer["holds"] is True
    assert answer["attacks"][0]["threat"] == "inject"
    assert answer["attacks"][0]["least"] >= 1
    assert answer["releasing_all"]["rounds"] == 120


def test_what_was_recomputed_and_what_rests_on_trust_is_printed(certificate: Path) -> None:
    printed = run(certificate).output
    answer = json.loads(run(certificate, "--json").output)
    done, trusted = printed.split("recomputed:")[1].split("rests on trust, and was not checked:")
    for part, field in ((done, "recomputed"), (trusted, "rests_on_trust")):
        assert answer[field]
        for each in answer[field]:
            assert each.keys() == {"what", "says"}
            assert f"- {each['says']}" in " ".join(part.split())
    kinds = [each["what"] for each in answer["rests_on_trust"]]
    assert kinds[:4] == ["trainings", "ledger", "divisor", "independence"]
    assert {"fixed_beforehand", "choice", "initial_model", "data"} <= set(kinds)
    (certificate.parent / "scores.npz").unlink()
    answer = json.loads(run(certificate, "--json").output)
    assert answer["recomputed"] == []
    assert answer["rests_on_trust"]


def test_changed_scores_are_found(certificate: Path) -> None:
    beside = certificate.parent / "scores.npz"
    replicas = Replicas.from_bytes(beside.read_bytes())
    changed = Replicas(scores=replicas.scores[::-1], numbers=replicas.numbers, seed=1, labels=replicas.labels)
    beside.write_bytes(changed.to_bytes())
    result = run(certificate)
    assert result.exit_code == 1
    assert "does not hold" in result.output
    assert "the stored scores were changed" in result.output.replace("\n", " ")
    beside.unlink()
    assert "cannot be read" in json.loads(run(certificate, "--json").output)["problems"][0]


@pytest.mark.parametrize("name", ["certificate.json", "certificate.json.gz"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b'{"format": "fedward ledger"}', b"certified"])
def test_what_is_no_certificate_is_not_checked(tmp_path: Path, content: bytes, name: str) -> None:
    """Nothing is wrong with a certificate, or right: the wrong file was given."""
    file = tmp_path / name
    file.write_bytes(content)
    for options in ([], ["--json"]):
        result = run(file, *options)
        assert result.output == ""
        assert isinstance(result.exception, InvalidValue)
        assert str(result.exception).startswith(f"{file} is not a certificate: ")


def test_a_certificate_that_was_cut_off_does_not_hold(certificate: Path) -> None:
    certificate.write_bytes(certificate.read_bytes()[:500])
    result = run(certificate)
    assert result.exit_code == 1
    assert "the certificate does not hold" in result.output
    assert str(certificate) in result.output.replace("\n", "")


def test_a_certificate_of_another_version_does_not_hold(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text('{"format": "fedward certificate"}')
    result = run(file, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.output)
    assert answer["holds"] is False
    assert answer["problems"]


def test_a_changed_file_does_not_hold(certificate: Path) -> None:
    certificate.write_text(
        certificate.read_text(encoding="utf8").replace('"users": 50', '"users": 500'), encoding="utf8"
    )
    result = run(certificate, "--json")
    assert result.exit_code == 1
    assert "damaged or changed" in json.loads(result.output)["problems"][0]
