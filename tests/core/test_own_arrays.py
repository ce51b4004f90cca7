"""Arrays of somebody's own: the same numbers as they came, or one clear line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation

X = np.arange(24, dtype=np.float64).reshape(6, 4)
Y = np.arange(6) % 3
USERS = np.arange(6) // 2


class NoArray:
    def __len__(self) -> int:
        return 6

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not today")


def emptied() -> torch.Tensor:
    tensor = torch.ones(6, 4)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(
    "x",
    [
        X.astype(">f8"),
        X.astype(">i4").astype(">f4"),
        X.astype(np.longdouble),
        np.asfortranarray(X),
        X[::-1, ::-1][::-1, ::-1],
        np.ma.masked_array(X),
        np.broadcast_to(X, (6, 4)),
        [torch.tensor(row, requires_grad=True) for row in X],
    ],
    ids=["big-endian", "big-endian single", "long", "columns", "strides", "no mask", "read-only", "tensors"],
)
def test_the_same_numbers_are_read_from_any_layout(x: Any) -> None:
    read = Federation.from_arrays(x, Y.astype(">i2"), USERS.astype(">u4"))
    plain = Federation.from_arrays(X, Y, USERS)
    assert isinstance(read.examples.x, torch.Tensor)
    assert isinstance(plain.examples.x, torch.Tensor)
    assert torch.equal(read.examples.x, plain.examples.x)
    assert torch.equal(read.examples.y, plain.examples.y)
    assert torch.equal(read.offsets, plain.offsets)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: torch.tensor(X).to_sparse(), "plain tensor, got a sparse_coo one"),
        (lambda: torch.tensor(X).to_sparse_csr(), "plain tensor, got a sparse_csr one"),
        (lambda: torch.empty(6, 4, device="meta"), "in main memory, got Tensor of meta"),
        (lambda: torch.quantize_per_tensor(torch.ones(6, 4), 0.1, 0, torch.qint8), "got a quantised one"),
        (lambda: torch.nested.nested_tensor([torch.ones(4)] * 6), "plain tensor"),
        (emptied, "plain tensor in main memory"),
        (lambda: np.ma.masked_array(X, mask=X > 20), "masked array with 3 masked"),
        (lambda: np.full((6, 4), 2**63, dtype=np.uint64), "below 2\\*\\*63"),
        (lambda: torch.full((6, 4), 2, dtype=torch.float8_e4m3fn), "at least 16 bits"),
        (lambda: np.full((6, 4), np.longdouble("1e400")), "must be finite"),
        (lambda: [[1.0], [1.0, 2.0]] * 3, "list of equal rows"),
        (NoArray, "not today"),
        (lambda: torch.tensor(3.0), "at least one number"),
        (lambda: X[:, :0], "at least one number"),
    ],
)
def test_inputs_that_are_not_the_numbers_they_seem_are_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        Federation.from_arrays(make(), Y, USERS)


@pytest.mark.parametrize(
    "y",
    [
        np.ma.masked_array(Y, mask=Y == 1),
        np.full(6, 2**63, dtype=np.uint64),
        torch.tensor(np.full(6, 2**63, dtype=np.uint64)),
        torch.empty(6, dtype=torch.int64, device="meta"),
        [[1], [1, 2]] * 3,
    ],
    ids=["masked", "wide", "wide tensor", "meta", "ragged"],
)
def test_labels_that_have_no_value_are_refused(y: Any) -> None:
    with pytest.raises(InvalidValue, match="labels must"):
        Federation.from_arrays(X, y, USERS)


def test_unsigned_tensors_are_read_as_labels() -> None:
    read = Federation.from_arrays(X, torch.tensor(Y.astype(np.uint16)), USERS)
    assert read.examples.y.tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("users", "says"),
    [
        (["a\0", "a"] * 3, "zero character"),
        (["a", 1] * 3, "got both"),
        (np.ma.masked_array(USERS, mask=USERS == 1), "masked"),
        ([[1], [1, 2]] * 3, "equal rows"),
        (None, "whole numbers or strings"),
    ],
)
def test_users_that_would_be_taken_for_others_are_refused(users: Any, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        Federation.from_arrays(X, Y, users)


@pytest.mark.parametrize(
    "options",
    [
        {"names": []},
        {"names": 5},
        {"names": [[0], [1]]},
        {"names": [None, 1]},
        {"test": 5},
        {"test": "abc"},
        {"test": (X, Y, USERS)},
        {"class_names": 3},
        {"class_names": "abc"},
        {"class_names": (1, 2, 3)},
    ],
    ids=str,
)
def test_options_of_the_wrong_type_are_refused_in_words(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must be"):
        Federation.from_arrays(X, Y, USERS, **options)
