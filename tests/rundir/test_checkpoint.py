from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.rounds import start
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.privacy import Ledger, ledger_file
from fedward.rundir import checkpoint
from fedward.rundir.store import open_run
from fedward.studies.training.setup import prepare
from studies.replicas_wanted import CONTENT
from support import tiny_algorithm
from training_steps import run


def test_a_damaged_checkpoint_names_itself_and_what_to_do(tmp_path: Path) -> None:
    """A changed weight would be trained on without a word."""
    setup = prepare(from_content({**CONTENT, "rounds": 2}))
    with open_run(tmp_path) as directory:
        next(run(setup, directory))
    file = tmp_path / "checkpoint.pt"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with (
        open_run(tmp_path) as directory,
        pytest.raises(InvalidValue, match=r"checkpoint\.pt is damaged .*put back a copy of it"),
    ):
        list(run(setup, directory))


def test_a_checkpoint_keeps_the_draw_and_one_without_has_none() -> None:
    algorithm = tiny_algorithm()
    state = replace(start(algorithm), draw="0a" * 16)
    assert checkpoint.from_bytes(checkpoint.to_bytes(state), "file").draw == "0a" * 16
    content = checkpoint.to_content(state)
    del content["draw"]  # as files of fc34a4a are
    assert checkpoint.from_content(content, "file").draw == ""
    assert checkpoint.to_content(replace(state, draw="")).keys() == content.keys()
    with pytest.raises(InvalidValue, match="draw must be hexadecimal"):
        checkpoint.from_content(content | {"draw": "x"}, "file")


def test_a_checkpoint_keeps_what_the_aggregator_remembers_and_the_model_of_the_round_before() -> None:
    state = start(tiny_algorithm())
    assert checkpoint.to_content(state).keys().isdisjoint({"memory", "previous"})
    memory = (torch.tensor([3, 1]), torch.ones(2, 4, dtype=torch.float64))
    kept = replace(state, memory=memory, previous=(state.parameters + 1,))
    stored = checkpoint.from_bytes(checkpoint.to_bytes(kept), "file")
    assert all(torch.equal(one, other) for one, other in zip(stored.memory, memory, strict=True))
    assert stored.memory[0].dtype == torch.int64
    assert torch.equal(stored.previous[0], state.parameters + 1)


def test_many_states_are_written_as_each_is_and_a_ledger_that_they_share_is_put_into_words_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    algorithms = [tiny_algorithm(), tiny_algorithm(noise_multiplier=3.0)]
    states = [
        replace(state, ledger=state.ledger.reserve(0, algorithm.round_event(12, 0)))
        for algorithm in algorithms
        for state in (start(algorithm), start(algorithm, replica=1))
    ]
    states = [states[0], states[2], states[1], states[3]]
    expected = [checkpoint.to_content(state) for state in states]
    words, real = [], ledger_file.dumps

    def counting(ledger: Ledger) -> str:
        words.append(ledger)
        return real(ledger)

    monkeypatch.setattr(ledger_file, "dumps", counting)
    contents = checkpoint.to_contents(states)
    assert [content["ledger"] for content in contents] == [content["ledger"] for content in expected]
    assert [content["replica"] for content in contents] == [0, 0, 1, 1]
    assert len(words) == 2
