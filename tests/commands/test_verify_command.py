"""``fedward verify`` and ``fedward sign`` as a person, and a program, gives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Answer, answer
from tiny_experiment import TEXT

pytest.importorskip("cryptography")
Fedward = Callable[..., Answer]


@pytest.fixture
def fedward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fedward:
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text(TEXT)

    def call(*words: object) -> Answer:
        return answer(*words, monkeypatch=monkeypatch, capsys=capsys)

    assert call("run", "first.toml", "--workers", 0).code == 0
    return call


def test_from_a_key_to_a_signed_run_to_a_void_signature(fedward: Fedward) -> None:
    made = fedward("sign", "--new-key", "mine.pem").out
    assert "mine.pem.pub: the public key" in made
    assert fedward("sign", "runs/first", "--key", "mine.pem").code == 0
    verified = fedward("verify", "runs/first", "--key", "mine.pem.pub")
    assert verified.code == 0
    assert "runs/first: intact, signed by the key " in verified.out
    Path("runs/first/model.pt").write_bytes(b"another")
    verified = fedward("verify", "runs/first", "--key", "mine.pem.pub")
    assert verified.code == 1
    assert "- runs/first/model.pt is damaged (not as it was written): this is not the model" in verified.out
    assert "runs/first was signed, and has changed since (model.pt)" in verified.out
    refused = fedward("sign", "runs/first", "--key", "mine.pem")
    assert refused.code == 2
    assert "a damaged run must not be signed" in refused.err
    assert fedward("verify", "runs/first", "--renew").code == 1  # it is still no model
    assert "has changed since (model.pt)" in fedward("verify", "runs/first", "--key", "mine.pem.pub").out


def test_what_is_damaged_is_not_shown_by_any_command(fedward: Fedward) -> None:
    file = Path("runs/first/rounds.jsonl")
    file.write_text(file.read_text().replace('"round": 1', '"round": 2'))
    for words in (["report", "runs/first"], ["run", "first.toml", "--set", "rounds=3"]):
        refused = fedward(*words)
        assert refused.code == 2
        assert "runs/first/rounds.jsonl is damaged" in refused.err
    listed = fedward("runs").out
    assert "cannot be read: runs/first/rounds.jsonl is damaged" in listed


def test_a_program_reads_the_same(fedward: Fedward) -> None:
    (verified,) = fedward("verify", "runs/first", "--json").json()["verified"]
    assert verified["holds"]
    assert verified["digests"]["there"]
    assert {each["what"] for each in verified["matched"]} >= {"digests", "epsilon", "measured"}
    Path("runs/first/ledger.json").unlink()
    both = fedward("verify", "runs/first", "runs", "--json")
    assert both.code == 1
    assert [each["kind"] for each in both.json()["verified"]] == ["run", "runs"]
    assert any(each["file"] == "runs/first/ledger.json" for each in both.json()["verified"][0]["damage"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify", "nowhere"], "must be a directory of runs, or a file of weights, got nothing there"),
        (["verify", "first.toml"], "must be a file of weights"),
        (["verify", "runs/first", "--key", "none.pub"], "the public key none.pub cannot be read"),
        (["sign", "runs/first"], "the option --key is missing"),
        (["sign", "--key", "mine.pem"], "runs to sign must be given"),
        (["sign", "runs/first", "--new-key", "x"], "--new-key makes a key and signs nothing"),
        (["sign", "--new-key", ""], "--new-key must be the path of what is written"),
    ],
)
def test_mistakes_are_one_line(fedward: Fedward, words: list[str], said: str) -> None:
    refused = fedward(*words)
    assert refused.code == 2
    assert said in refused.err


def test_one_that_is_none_hides_no_other(fedward: Fedward) -> None:
    found = fedward("verify", "nowhere", "runs/first")
    assert found.code == 1
    assert "runs/first: intact" in found.out
    assert "nowhere: 1 thing is wrong" in found.out
