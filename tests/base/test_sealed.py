from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.rundir.store import open_run
from fedward.studies.training.setup import prepare
from fedward.studies.training.training_study import run
from studies.replicas_wanted import CONTENT

KIND = "example 1"
GOOD = seal(KIND, {"parameters": torch.arange(5.0), "round": 3})


def test_what_was_sealed_comes_back() -> None:
    found = unseal(KIND, GOOD, "file", "")
    assert found["round"] == 3
    assert torch.equal(found["parameters"], torch.arange(5.0))


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed(place: int, change: int) -> None:
    bad = bytearray(GOOD)
    bad[place] ^= change
    with pytest.raises(InvalidValue, match=r"the file is damaged .*: throw it away"):
        unseal(KIND, bytes(bad), "the file", "throw it away")


@given(st.integers(0, len(GOOD) - 1))
def test_no_missing_end_goes_unnoticed(length: int) -> None:
    with pytest.raises(InvalidValue, match="damaged"):
        unseal(KIND, GOOD[:length], "file", "")


def test_another_format_is_refused() -> None:
    with pytest.raises(InvalidValue, match="not of the format 'example 2'"):
        unseal("example 2", GOOD, "file", "")


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
