from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fedward
from command_line import exit_code
from fedward.base.validate import InvalidValue
from fedward.certificates.others import DisjointGroups, ParameterSmoothing, Proof, RandomGroups
from fedward.certificates.others.other_setting import OtherSetting
from fedward.commands.proof_options import OtherProof
from tiny_experiment import TEXT

FILE = TEXT.replace("users = 10 }\nmodel", "users = 30 }\nmodel")


@pytest.mark.parametrize(
    ("options", "proof"),
    [
        ({}, None),
        ({"by": "flcert", "groups": 5}, DisjointGroups(groups=5)),
        ({"by": "flcert_random", "group_size": 4}, RandomGroups(size=4)),
        ({"by": "crfl"}, ParameterSmoothing()),
        ({"by": "crfl", "attacked_rounds": "2, 0"}, ParameterSmoothing(attacked=(0, 2))),
    ],
)
def test_options_name_a_proof(options: dict[str, Any], proof: Proof | None) -> None:
    assert OtherProof(**options).proof() == proof


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "krum"}, "--by must be one of flcert, flcert_random, crfl, got 'krum'"),
        ({"by": "flcert"}, "needs --groups G"),
        ({"by": "flcert_random"}, "needs --group-size S"),
        ({"groups": 5}, "--groups belongs to --by flcert, got None"),
        ({"by": "flcert", "groups": 5, "group_size": 2}, "--group-size belongs to --by flcert_random"),
        ({"by": "crfl", "attacked_rounds": "one"}, "whole numbers, separated by commas, got 'one'"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        OtherProof(**options).proof()


def test_groups_are_certified_checked_trained_again_verified_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "experiment.toml", tmp_path / "run"
    file.write_text(FILE)

    def run(*words: Any) -> str:
        assert exit_code(*words, monkeypatch=monkeypatch) == 0
        return " ".join(capsys.readouterr().out.split())

    printed = run("certify", file, "--by", "flcert", "--groups", 6, "--out", out)
    assert "each replica is trained on the users of one group; no ε is claimed" in printed
    assert "certain: the votes were counted" in printed
    assert "ε = inf" not in printed
    assert json.loads((out / "certified.json").read_text())["all"]["epsilon"] is None
    again = run("certificate", "check", out / "certificate.json", "--retrain", 2)
    assert "the certificate holds" in again
    assert "2 of 6 replicas were trained again and agree" in again
    assert "intact" in run("verify", out)
    page = tmp_path / "page.html"
    run("report", out, "--out", page)
    assert "--by flcert --groups 6" in page.read_text()
    assert "Nobody may see noise" not in page.read_text()
    record = fedward.load(out)
    assert record.certified_accuracy(0) >= record.certified_accuracy(1)  # type: ignore[union-attr]
    # The same directory does not answer another question.
    assert exit_code("certify", file, "-m", 6, "--out", out, monkeypatch=monkeypatch) != 0
    assert "groups" in capsys.readouterr().err


def test_smoothed_parameters_are_certified_with_the_epsilon_of_their_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "experiment.toml", tmp_path / "run"
    everyone = FILE.replace('{ name = "poisson", rate = 0.5 }', '{ name = "everyone" }')
    file.write_text(f'{everyone}server = {{ name = "model_clipping", norm = 3.0 }}\n')
    words = ("--by", "crfl", "--attacked-rounds", "0", "-m", 12, "--score", "vote", "--out", out)
    assert exit_code("certify", file, *words, monkeypatch=monkeypatch) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "It is not the theorem of the paper" in printed
    assert "Attackers may send anything in round 0 (from 0) alone" in printed
    assert json.loads((out / "certified.json").read_text())["all"]["epsilon"] > 0
    assert exit_code("certificate", "check", out / "certificate.json", monkeypatch=monkeypatch) == 0


def test_python_asks_with_the_same_words(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(FILE)
    options: dict[str, Any] = {"replicas": 8, "quiet": True, "out": tmp_path / "run"}
    found = fedward.certify(file, by={"name": "flcert_random", "size": 5}, **options)
    (certificate,) = found.certificates.values()
    assert isinstance(certificate.setting, OtherSetting)
    assert certificate.setting.by == RandomGroups(size=5)
    assert certificate.score == "vote"
