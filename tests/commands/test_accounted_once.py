"""ε over several commands, each of which forgets what a process forgets: none is computed twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from command_line import answer
from fedward.privacy import pld, remembered
from fedward.privacy.pld import Epochs, Rounds
from tiny_experiment import TEXT

FINE = 1e-4


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[Rounds, Epochs, float]]:
    """How often the losses of each spending were composed for an ε that is told to somebody."""
    real, found = pld._compute, Counter[tuple[Rounds, Epochs, float]]()

    def counting(rounds: Rounds, epochs: Epochs, delta: float, grid: float) -> float:
        found.update([(rounds, epochs, delta)] if grid == FINE else [])
        return real(rounds, epochs, delta, grid)

    monkeypatch.setattr(pld, "_compute", counting)
    return found


def test_commands_about_one_training_account_each_spending_once(
    computed: Counter[tuple[Rounds, Epochs, float]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace('accountant = "rdp"', 'accountant = "pld"')
    (tmp_path / "file.toml").write_text(text)
    (tmp_path / "levels.toml").write_text(text + "[sweep]\nalgorithm.noise_multiplier = [2.0, 3.0]\n")
    for command in (
        ("run", "file.toml", "--out", "runs/one", "--workers", "0"),
        ("check", "file.toml", "--no-calibration"),
        ("report", "runs/one"),
        ("sweep", "levels.toml", "--workers", "0"),
    ):
        pld._remembered.cache_clear()
        remembered._guarantee.cache_clear()
        code, _, err = answer(*command, monkeypatch=monkeypatch, capsys=capsys)
        assert code == 0, (command, err)
    assert max(computed.values()) == 1
    assert {(rounds[0][1], rounds[0][2]) for rounds, _, _ in computed} >= {(2.0, 2), (3.0, 2)}
