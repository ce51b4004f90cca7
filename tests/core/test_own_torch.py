from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, Subset, TensorDataset

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.datasets import Split
from support import flat_inputs

X = torch.arange(24, dtype=torch.float32).reshape(8, 3)
Y = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
DATA = TensorDataset(X, Y)


class Examples(Dataset[Any]):
    """Any examples, as a data set of somebody's own gives them."""

    def __init__(self, examples: list[Any], classes: list[str] | None = None) -> None:
        self.examples = examples
        if classes is not None:
            self.classes = classes

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, place: int) -> Any:
        return self.examples[place]


def test_every_example_goes_to_the_user_that_is_named_for_it() -> None:
    federation = Federation.from_torch(DATA, users=["b", "a"] * 4, test=Subset(DATA, [0, 2]))
    assert federation.names.tolist() == ["a", "b"]
    assert torch.equal(flat_inputs(federation.user(0)), X[1::2])
    assert federation.user(1).y.tolist() == [0, 2, 1, 0]
    assert federation.test is not None
    assert federation.test.y.tolist() == [0, 2]
    assert federation.num_classes == 3


@pytest.mark.parametrize("users", [[3, 1] * 4, np.array([3, 1] * 4), torch.tensor([3, 1] * 4)])
def test_users_may_be_numbers_in_any_array(users: Any) -> None:
    assert Federation.from_torch(DATA, users=users).names.tolist() == [1, 3]


def test_users_may_be_a_column_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["b", "a"] * 4, index=range(10, 18))
    assert Federation.from_torch(DATA, users=column).names.tolist() == ["a", "b"]


def test_examples_are_dealt_out_by_the_scheme_that_is_declared() -> None:
    split = Split(name="iid", users=4)
    a, b, c = (Federation.from_torch(DATA, users=split, seed=seed) for seed in (1, 1, 2))
    assert a.sizes.tolist() == [2, 2, 2, 2]
    assert torch.equal(flat_inputs(a.examples), flat_inputs(b.examples))
    assert not torch.equal(flat_inputs(a.examples), flat_inputs(c.examples))
    assert sorted(flat_inputs(a.examples)[:, 0].tolist()) == X[:, 0].tolist()
    skewed = Federation.from_torch(DATA, users=Split(name="dirichlet", users=2, alpha=0.5), seed=0)
    assert (skewed.num_users, len(skewed.examples)) == (2, 8)
    with pytest.raises(InvalidValue, match="must be at most the number of examples, 8, got 9"):
        Federation.from_torch(DATA, users=Split(name="iid", users=9), seed=0)


def test_pictures_labels_as_text_and_names_of_classes_are_read() -> None:
    from PIL import Image

    pictures = [(Image.new("RGB", (4, 2), (255, 0, 51)), "cat"), (Image.new("RGB", (4, 2)), "ant")]
    federation = Federation.from_torch(Examples(pictures), users=["a", "b"])
    assert flat_inputs(federation.examples).shape == (2, 3, 2, 4)
    assert flat_inputs(federation.examples)[0, :, 0, 0].tolist() == pytest.approx([1.0, 0.0, 0.2])
    assert federation.examples.y.tolist() == [1, 0]
    assert federation.class_names == ("ant", "cat")
    named = Examples([(X[0], 1), (X[1], 0)], classes=["no", "yes", "maybe"])
    federation = Federation.from_torch(named, users=["a", "b"])
    assert (federation.class_names, federation.num_classes) == (("no", "yes", "maybe"), 3)


def test_sequences_of_tokens_may_have_different_lengths() -> None:
    data = Examples([(torch.tensor([5, 6]), 0), (torch.tensor([7]), torch.tensor(1))])
    federation = Federation.from_torch(data, users=["a", "b"])
    assert isinstance(federation.examples.x, Ragged)
    assert federation.examples.x.values.tolist() == [5, 6, 7]


def test_what_is_written_to_the_tensors_later_does_not_reach_the_federation() -> None:
    mine = X.clone()
    federation = Federation.from_torch(TensorDataset(mine, Y), users=list(range(8)))
    mine.fill_(99.0)
    assert torch.equal(flat_inputs(federation.examples), X)


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (Stream(), {}, "dataset must be a map-style data set of torch.* got Stream"),
        (Examples([]), {}, "dataset must hold at least one example, got 0"),
        (DATA, {"test": Examples([])}, "test must hold at least one example, got 0"),
        (Examples([X[0]]), {}, "input and a label for each example, but example 0 is a Tensor"),
        (Examples([(X[0], 0, 1)]), {}, "input and a label for each example, but example 0 is a tuple"),
        (Examples([(X[0], 0), (X[0, :2], 1)]), {}, r"one shape, but row 1 has \(2,\) and row 0"),
        (Examples([(X[0], 0), (X[0] / 0, 1)]), {}, "'input' must hold finite numbers, but row 1 has nan"),
        (Examples([(X[0], 0), (X[0], 0.5)]), {}, "column 'label' must hold labels, .* but row 1 has 0.5"),
        (Examples([(torch.ones(2, 2, dtype=torch.int64), 0)]), {}, "must hold floats, pictures or lists of"),
        (Examples([(X[0], 0), (X[0], "b")]), {}, "column 'label' must hold labels, .* but row 1 has 'b'"),
        (Examples([(X[0], 0), (X[0], -1)]), {}, "labels must be at least 0, got -1"),
        (DATA, {"users": ["a"] * 7}, "users must name one user for each of 8 examples, got 7"),
        (DATA, {"users": [None] * 8}, "column 'users' must hold users, .* but row 0 has None"),
        (DATA, {"users": 4}, r"for instance fedward.datasets.Split\(name='iid', users=100\), got 4"),
        (DATA, {"users": iter("abcdefgh")}, "users must name the user of each example, or say how"),
        (DATA, {"users": "ann"}, "users must name the user of each example, .* got 'ann'"),
        (DATA, {"users": Split(name="iid", users=2)}, "dealt out to users need a seed, got None"),
        (DATA, {"users": ["a"] * 8, "seed": 1}, "seed must be left out where the user .* is named, got 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_data_set_is_said_in_words(data: Any, options: Any, message: str) -> None:
    with pytest.raises((InvalidValue, InvalidType), match=message):
        Federation.from_torch(data, **{"users": ["a", "b"]} | options)
