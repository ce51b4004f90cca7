"""The real ``datasets`` of Hugging Face, where it is installed; ``test_own_tables`` has a stand-in."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.core.texts import most_frequent_words
from support import flat_inputs

# Not plain "datasets": without that package it would be the folder of tests of this name.
pytest.importorskip("datasets.arrow_dataset")
datasets = importlib.import_module("datasets")


def digits(labels: list[int]) -> Any:
    from PIL import Image

    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["zero", "one", "two"]),
            "writer": datasets.Value("string"),
        }
    )
    pictures = [Image.new("L", (5, 6), 51 * place) for place in range(len(labels))]
    writers = [f"w{place % 2}" for place in range(len(labels))]
    return datasets.Dataset.from_dict(
        {"image": pictures, "label": labels, "writer": writers}, features=features
    )


def test_pictures_and_names_of_classes_are_read() -> None:
    federation = Federation.from_huggingface(digits([0, 1, 1, 0]), user="writer", test=digits([1, 0]))
    assert flat_inputs(federation.examples).shape == (4, 1, 6, 5)
    assert flat_inputs(federation.examples)[:, 0, 0, 0].tolist() == pytest.approx([0.0, 0.4, 0.2, 0.6])
    assert federation.examples.y.tolist() == [0, 1, 1, 0]
    assert (federation.names.tolist(), federation.class_names) == (["w0", "w1"], ("zero", "one", "two"))
    assert federation.num_classes == 3
    assert federation.test is not None
    assert len(federation.test) == 2


@pytest.mark.parametrize("format", [None, "numpy", "torch"])
def test_the_format_that_a_dataset_was_left_in_does_not_matter(format: str | None) -> None:
    data = digits([0, 1, 1, 0]).with_format(format)
    assert flat_inputs(Federation.from_huggingface(data, user="writer").examples).sum() == pytest.approx(36.0)


def test_texts_tokens_and_arrays_are_read() -> None:
    texts = ["the cat", "a dog", "the end"]
    data = datasets.Dataset.from_dict(
        {
            "text": texts,
            "input_ids": [[2, 3], [4], [2, 5, 6]],
            "vector": [[0.5, 1.5], [1.0, 2.0], [3.0, 4.0]],
            "label": ["good", "bad", "good"],
            "user": [7, 8, 7],
        }
    )
    vocabulary = most_frequent_words(texts, 5)
    by_text = Federation.from_huggingface(data, user="user", input="text", vocabulary=vocabulary)
    assert isinstance(by_text.examples.x, Ragged)
    assert by_text.class_names == ("bad", "good")
    by_tokens = Federation.from_huggingface(data, user="user", input="input_ids")
    assert isinstance(by_tokens.examples.x, Ragged)
    assert by_tokens.examples.x.values.tolist() == [2, 3, 2, 5, 6, 4]
    by_vector = Federation.from_huggingface(data, user="user", input="vector")
    assert torch.equal(flat_inputs(by_vector.examples), torch.tensor([[0.5, 1.5], [3.0, 4.0], [1.0, 2.0]]))


def test_a_dictionary_of_splits_a_stream_and_missing_cells_are_refused() -> None:
    data = digits([0, 1])
    with pytest.raises(InvalidType, match=r"must be one split of the data, got .* 'train', 'test'"):
        Federation.from_huggingface(datasets.DatasetDict(train=data, test=data), user="writer")
    with pytest.raises(InvalidType, match="map-style"):
        Federation.from_huggingface(data.to_iterable_dataset(), user="writer")
    with pytest.raises(InvalidValue, match="table must have the column 'user'"):
        Federation.from_huggingface(data, user="user")
    with pytest.raises(InvalidValue, match="test table must hold at least one example, got 0"):
        Federation.from_huggingface(data, user="writer", test=data.select([]))
    gaps = datasets.Dataset.from_dict({"x": [0.5, None], "label": [0, 1], "user": ["a", "b"]})
    with pytest.raises(InvalidValue, match="column 'x' must hold finite numbers, but row 1 has nan"):
        Federation.from_huggingface(gaps, user="user", input="x")
    gaps = datasets.Dataset.from_dict({"x": [0.5, 1.0], "label": [0, None], "user": ["a", "b"]})
    with pytest.raises(InvalidValue, match="column 'label' must hold labels without gaps, but row 1 has nan"):
        Federation.from_huggingface(gaps, user="user", input="x")


def test_bytes_in_arrays_are_pictures() -> None:
    features = datasets.Features(
        {
            "image": datasets.Array3D(shape=(6, 5, 3), dtype="uint8"),
            "label": datasets.Value("int64"),
            "user": datasets.Value("int64"),
        }
    )
    pictures = np.full((2, 6, 5, 3), 255, dtype=np.uint8)
    data = datasets.Dataset.from_dict({"image": pictures, "label": [0, 1], "user": [0, 1]}, features=features)
    x = flat_inputs(Federation.from_huggingface(data, user="user").examples)
    assert x.shape == (2, 3, 6, 5)
    assert bool((x == 1).all())
