from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from command_line import answer
from fedward.deploy.node.node_ledger import NodeLedger
from fedward.deploy.node.node_rules import read_rules
from fedward.local import NoisyGradient

EXPERIMENT = """
seed = 1
rounds = 2

[data]
name = "digits"
users = 12

[model]
name = "logistic_regression"

[algorithm]
preset = "ldp_fedsgd"
clip_bound = 1.0
noise_multiplier = 4.0
sampler = { name = "poisson", rate = 0.5 }
noise_source = "system"

[privacy]
users = 12
delta = 1e-3
"""


def test_an_app_is_written_once_and_every_file_passes_its_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = partial(answer, monkeypatch=monkeypatch, capsys=capsys)
    monkeypatch.chdir(tmp_path)
    Path("experiment.toml").write_text(EXPERIMENT, encoding="utf8")
    words = ("flower", "new", "hospitals", "--file", "experiment.toml", "--nodes", 4, "--json")
    made = ask(*words).json()
    assert all((tmp_path / "hospitals" / file).is_file() for file in made["files"])
    again = ask(*words)
    assert again.code == 2
    assert "is there already and is left as it is" in again.err

    server = ask("flower", "check", "hospitals/server/federation.toml").out
    assert "12 users at 4 nodes" in server
    rules = ask("flower", "check", "hospitals/nodes/node-3/rules.toml").out
    assert "users protect themselves" in rules
    wrong = ask("flower", "check", "nowhere.toml")
    assert (wrong.code, "there is no file nowhere.toml" in wrong.err) == (2, True)


def test_a_nodes_ledger_is_read_with_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = partial(answer, monkeypatch=monkeypatch, capsys=capsys)
    file = tmp_path / "rules.toml"
    file.write_text('trust_server = false\nepsilon = 8.0\ndelta = 1e-5\nledger = "ledger"\n', encoding="utf8")
    assert "nobody has spent anything yet" in ask("flower", "ledger", file).out
    rules = read_rules(file)
    assert rules.ledger is not None
    trainer = NoisyGradient(noise_multiplier=10.0, clip_bound=1.0, noise_source="system")
    NodeLedger(rules.ledger, rules.budget).charge(["ann"], trainer, trainer.local_event(0))
    found = ask("flower", "ledger", file).out
    assert "budget of each user: ε = 8 at δ = 1e-05" in found
    assert "ann: ε = 0.7256, 1 round" in found
    content = ask("flower", "ledger", file, "--json").json()
    assert content["users"]["ann"]["rounds"] == 1
    file.write_text("trust_server = true\n", encoding="utf8")
    assert "have no ledger of their own" in ask("flower", "ledger", file).err
