from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.core.digest import tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.models.target_model import read_target
from models.other_files import write_other_files
from support import tiny_model


def test_the_parameters_of_a_stored_model_come_back_bit_for_bit(tmp_path: Path) -> None:
    stored, here = tiny_model(seed=5), tiny_model()
    torch.save(stored.state_dict(), tmp_path / "model.pt")
    before = ParameterSpec.of(here).flatten(here).clone()
    target = read_target(tmp_path / "model.pt", here)
    assert target is not None
    assert torch.equal(target, ParameterSpec.of(stored).flatten(stored))
    assert torch.equal(ParameterSpec.of(here).flatten(here), before)  # the trained model is left alone


def test_without_a_file_there_is_no_target() -> None:
    assert read_target(None, tiny_model()) is None


def with_nan(value: float) -> dict[str, Any]:
    state = tiny_model().state_dict()
    state["0.bias"][1] = value
    return state


@pytest.mark.parametrize(
    "content",
    [
        tiny_model(features=4).state_dict(),
        {name: tensor for name, tensor in tiny_model().state_dict().items() if name != "0.bias"},
        tiny_model().state_dict() | {"more": torch.zeros(1)},
        torch.zeros(3),
        [1, 2],
        {},
    ],
    ids=["another shape", "too few", "too many", "a tensor", "a list", "nothing"],
)
def test_a_file_with_another_content_is_refused(content: Any, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "model.pt")
    with pytest.raises(InvalidValue, match=r"target model .*model\.pt must hold the state_dict"):
        read_target(tmp_path / "model.pt", tiny_model())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_target_that_is_not_finite_is_refused(value: float, tmp_path: Path) -> None:
    torch.save(with_nan(value), tmp_path / "model.pt")
    with pytest.raises(InvalidValue, match=r"model\.pt must hold finite parameters"):
        read_target(tmp_path / "model.pt", tiny_model())


def test_files_of_any_other_kind_are_refused_and_run_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    others = write_other_files(tmp_path)
    (tmp_path / "directory.pt").mkdir()
    for name in (*others, "directory.pt"):
        with pytest.raises(
            InvalidValue,
            match=rf"^target model .*{name} must hold .*, got another kind of file or a damaged one$",
        ):
            read_target(tmp_path / name, tiny_model())
    assert not (tmp_path / "trap").exists()
    with pytest.raises(InvalidValue, match=r"target model: there is no file .*none\.pt"):
        read_target(tmp_path / "none.pt", tiny_model())


def test_a_digest_changes_with_any_number_shape_or_type() -> None:
    tensor = torch.zeros(4)
    other = tensor.clone()
    other[3] = 1e-30
    different = [tensor, other, tensor.double(), tensor.view(2, 2), torch.zeros(5)]
    assert len({tensor_digest(one) for one in different}) == len(different)
    assert tensor_digest(tensor) == tensor_digest(torch.zeros(8)[::2])
