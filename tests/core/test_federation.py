from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])


def test_examples_are_grouped_by_user_and_keep_their_order() -> None:
    federation = Federation.from_arrays(X, Y, ["b", "a", "b", "c", "a", "b"])
    assert federation.names.tolist() == ["a", "b", "c"]
    assert federation.sizes.tolist() == [2, 3, 1]
    assert federation.user(1).x.tolist() == X[[0, 2, 5]].tolist()  # type: ignore[union-attr]
    assert federation.user(1).y.tolist() == Y[[0, 2, 5]].tolist()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_every_example_belongs_to_exactly_its_user(users: list[int]) -> None:
    n = len(users)
    federation = Federation.from_arrays(
        np.arange(n, dtype=np.float32)[:, None], np.zeros(n, dtype=int), users
    )
    found = {}
    for user in range(federation.num_users):
        for value in federation.user(user).x.flatten().tolist():  # type: ignore[union-attr]
            assert value not in found
            found[value] = federation.names[user]
    assert [found[float(i)] for i in range(n)] == users


def test_a_user_shares_memory_with_the_federation() -> None:
    federation = Federation.from_arrays(X, Y, [0, 0, 1, 1, 2, 2])
    part = federation.user(1).x
    assert isinstance(part, torch.Tensor)
    assert isinstance(federation.examples.x, torch.Tensor)
    assert part.data_ptr() == federation.examples.x[2:].data_ptr()


def test_a_hundred_thousand_users_cost_no_object_each() -> None:
    n = 100_000
    x, users = torch.zeros(n, 1), np.arange(n)
    y = torch.zeros(n, dtype=torch.int64)
    Federation.from_arrays(x[:10], y[:10], users[:10])
    tracemalloc.start()
    federation = Federation.from_arrays(x, y, users)
    blocks = tracemalloc.take_snapshot().statistics("lineno")
    tracemalloc.stop()
    assert federation.num_users == n
    assert sum(stat.count for stat in blocks) < 1000


def test_ragged_examples_stay_with_their_user() -> None:
    tweets = Ragged.from_sequences([[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]])
    federation = Federation.from_arrays(tweets, [0, 1, 0, 1], ["y", "x", "y", "x"])
    x = federation.user(0)
    assert isinstance(x.x, Ragged)
    padded, labels = x.batch(torch.tensor([0, 1]))
    assert padded.tolist() == [[4, 0, 0, 0], [7, 8, 9, 10]]
    assert labels.tolist() == [1, 1]
    assert federation.user(1).batch(torch.tensor([1]))[0].tolist() == [[5, 6]]


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=8), st.randoms())
def test_ragged_select_and_span_agree_with_lists(sequences: list[list[int]], random: Any) -> None:
    ragged = Ragged.from_sequences(sequences)
    order = list(range(len(sequences)))
    random.shuffle(order)
    selected = ragged.select(torch.tensor(order))
    for place, i in enumerate(order):
        assert selected[torch.tensor([place])].tolist() == [sequences[i]]
    part = ragged.span(1, len(sequences)) if len(sequences) > 1 else ragged
    assert part[torch.tensor([0])].tolist() == [sequences[min(1, len(sequences) - 1)]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, Y[:5], [0] * 6), "6 examples but 5 labels"),
        ((X, Y, [0] * 5), "one user for each of 6 examples"),
        ((X, Y, [0.5] * 6), "whole numbers or strings"),
        ((X, Y, [None] * 6), "whole numbers or strings"),
        ((X[:0], Y[:0], np.array([], dtype=int)), "at least one example"),
        ((X, Y - 1, [0] * 6), "labels must be at least 0, got -1"),
        ((X, np.stack([Y, Y], 1), [0] * 6), "one whole number for each example"),
        ((np.where(X == 3, np.nan, X), Y, [0] * 6), "example 1 holds NaN"),
        ((np.where(X == 3, np.inf, X), Y, [0] * 6), "must be finite"),
        ((X.astype(np.float64) * 1e300, Y, [0] * 6), "must be finite"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Federation.from_arrays(*arguments)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X.astype(np.uint8), Y, "scale images first"),
        (X, Y.astype(float), "labels must be whole numbers"),
        (X, Y.astype(bool), "labels must be whole numbers"),
        (X.astype(np.complex64), Y, "must be numbers"),
        (np.array(["a"] * 6), Y, "must be numbers"),
    ],
)
def test_arrays_of_the_wrong_type_are_refused(x: Any, y: Any, message: str) -> None:
    with pytest.raises(InvalidType, match=message):
        Federation.from_arrays(x, y, [0] * 6)


def test_an_empty_user_is_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match="user carol has no examples"):
        Federation.from_arrays(X, Y, ["ann"] * 3 + ["bob"] * 3, names=["ann", "bob", "carol"])
    examples = Examples.from_arrays(X, Y)
    with pytest.raises(InvalidValue, match="user 1 has no examples"):
        Federation(examples, torch.tensor([0, 3, 3, 6]), np.arange(3), 2)


def test_names_fix_the_order_and_must_cover_everybody() -> None:
    federation = Federation.from_arrays(X, Y, ["ann"] * 3 + ["bob"] * 3, names=["bob", "ann"])
    assert federation.user(0).y.tolist() == Y[3:].tolist()
    with pytest.raises(InvalidValue, match="user bob owns examples but is not among the names"):
        Federation.from_arrays(X, Y, ["ann"] * 3 + ["bob"] * 3, names=["ann"])
    with pytest.raises(InvalidValue, match="must not repeat"):
        Federation.from_arrays(X, Y, ["ann"] * 6, names=["ann", "ann"])


def test_test_examples_must_be_of_the_same_kind() -> None:
    with pytest.raises(InvalidValue, match="same shape"):
        Federation.from_arrays(X, Y, [0] * 6, test=(X[:, :1], Y))
    with pytest.raises(InvalidValue, match="both be ragged"):
        Federation.from_arrays(X, Y, [0] * 6, test=(Ragged.from_sequences([[1]]), [0]))
    with pytest.raises(InvalidValue, match="below the number of classes, 2, got 5"):
        Federation.from_arrays(X, Y, [0] * 6, test=(X, np.full(6, 5)), num_classes=2)


def test_classes_are_counted_over_training_and_test() -> None:
    assert Federation.from_arrays(X, Y, [0] * 6).num_classes == 2
    assert Federation.from_arrays(X, Y, [0] * 6, test=(X, np.full(6, 5))).num_classes == 6


@pytest.mark.parametrize("user", [-1, 2])
def test_there_is_no_user_beyond_the_last(user: int) -> None:
    federation = Federation.from_arrays(X, Y, [0, 0, 0, 1, 1, 1])
    with pytest.raises(InvalidValue, match="user must be from 0 to 1"):
        federation.user(user)


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [1, 3], [0, 2], [0, 2, 2, 3]])
def test_ragged_offsets_are_checked(offsets: list[int]) -> None:
    with pytest.raises(InvalidValue):
        Ragged(torch.arange(3), torch.tensor(offsets))


def test_a_column_of_strings_as_pandas_has_it_names_users() -> None:
    owners = np.array(["b", "a", "b", "c", "a", "b"], dtype=object)
    assert Federation.from_arrays(X, Y, owners).names.tolist() == ["a", "b", "c"]


def test_lists_of_tensors_and_torch_arrays_work() -> None:
    federation = Federation.from_arrays(torch.tensor(X), torch.tensor(Y), np.array([0, 0, 0, 1, 1, 1]))
    assert federation.examples.x.dtype == torch.float32  # type: ignore[union-attr]


SORTED, MIXED = ["a", "a", "b", "b", "c", "c"], ["b", "a", "b", "c", "a", "b"]


class Table:
    """Something else that numpy makes an array of, in its own memory: as tables of other libraries do."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._x


KINDS: dict[str, Any] = {
    "numpy": lambda x: x,
    "torch": torch.from_numpy,
    "a view": lambda x: torch.from_numpy(x)[:, :],
    "a table": Table,
}


@pytest.mark.parametrize("users", [SORTED, MIXED], ids=["in order", "not in order"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_to_ones_own_arrays_later_does_not_reach_a_federation(
    kind: str, users: list[str]
) -> None:
    """Whether it did depended on the order in which the users happened to stand."""
    x, y, test, test_y = X.copy(), Y.copy(), X.copy() + 1, Y.copy()
    names = np.array(["a", "b", "c"])
    federation = Federation.from_arrays(
        KINDS[kind](x), torch.from_numpy(y), users, test=(KINDS[kind](test), test_y), names=names
    )
    assert federation.test is not None
    shared: list[Any] = [federation.examples.x, federation.examples.y, federation.test.x, federation.test.y]
    before = [tensor.clone() for tensor in shared]
    for array in (x, y, test, test_y):
        array[:] = 0
    names[:] = "z"
    assert all(torch.equal(a, b) for a, b in zip(before, shared, strict=True))
    assert federation.names.tolist() == ["a", "b", "c"]


def test_sequences_of_ones_own_are_copied_too() -> None:
    values, offsets = torch.tensor([5, 3, 7]), torch.tensor([0, 2, 3])
    federation = Federation.from_arrays(Ragged(values, offsets), [0, 1], ["a", "b"])
    values.zero_()
    offsets.copy_(torch.tensor([0, 1, 3]))
    assert federation.examples.x[torch.tensor([0, 1])].tolist() == [[5, 3], [7, 0]]


def test_a_federation_takes_arrays_over_if_it_is_told_to() -> None:
    x, y = X.copy(), Y.copy()
    federation = Federation.from_arrays(x, y, SORTED, test=(x, y), copy=False)
    assert federation.test is not None
    x[0, 0] = 99
    assert float(federation.examples.x[0, 0]) == float(federation.test.x[0, 0]) == 99  # type: ignore[index]


def test_arrays_that_cannot_be_written_are_taken(tmp_path: Path) -> None:
    """A file of numpy's that is mapped, say: torch warns about what it could do to it."""
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for copy in (True, False):
        federation = Federation.from_arrays(mapped, Y, SORTED, copy=copy)
        assert torch.equal(federation.examples.x, torch.from_numpy(X))  # type: ignore[arg-type]


def test_a_copy_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numbers had to be converted anyway nothing is shared any more."""
    clones: list[Any] = []
    clone = torch.Tensor.clone

    def noted(tensor: torch.Tensor) -> torch.Tensor:
        clones.append(tensor)
        return clone(tensor)

    monkeypatch.setattr(torch.Tensor, "clone", noted)
    Examples.from_arrays(X.astype(np.float64), Y.astype(np.int32))
    assert clones == []
    Examples.from_arrays(X, Y)
    assert [tuple(tensor.shape) for tensor in clones] == [(6, 2), (6,)]
