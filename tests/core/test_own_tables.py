from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.digest import data_digest
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.core.texts import most_frequent_words
from support import flat_inputs

pandas = pytest.importorskip("pandas")

ROWS: dict[str, list[Any]] = {
    "clinic": ["b", "a", "b", "c"],
    "ill": ["yes", "no", "no", "maybe"],
    "age": [0.5, -1.0, 2.0, 3.0],
    "pulse": [60, 70, 80, 90],
    "note": ["the cat", "a dog", "the the", "cat"],
}
WANTED: dict[str, Any] = {"user": "clinic", "label": "ill", "inputs": ["age", "pulse"]}


def frame(**changes: Any) -> Any:
    return pandas.DataFrame(ROWS | changes)


def test_rows_of_a_frame_go_to_their_users_in_order() -> None:
    federation = Federation.from_pandas(frame(), **WANTED)
    assert federation.names.tolist() == ["a", "b", "c"]
    assert federation.sizes.tolist() == [1, 2, 1]
    assert flat_inputs(federation.examples).tolist() == [[-1.0, 70.0], [0.5, 60.0], [2.0, 80.0], [3.0, 90.0]]
    assert federation.examples.x.dtype == torch.float32  # type: ignore[union-attr]
    assert federation.test is None


def test_a_frame_and_the_same_arrays_are_the_same_data() -> None:
    by_frame = Federation.from_pandas(frame(), **WANTED)
    x = np.array([ROWS["age"], ROWS["pulse"]], dtype=np.float32).T
    by_arrays = Federation.from_arrays(x, [2, 1, 1, 0], ROWS["clinic"])
    assert data_digest(by_frame) == data_digest(by_arrays)


def test_labels_that_are_text_are_numbered_by_the_alphabet_and_their_names_are_kept() -> None:
    test = frame(ill=["no", "yes", "never", "yes"]).drop(columns="clinic")
    federation = Federation.from_pandas(frame(), **WANTED, test=test)
    assert federation.test is not None
    assert federation.class_names == ("maybe", "never", "no", "yes")
    assert federation.num_classes == 4
    assert federation.examples.y.tolist() == [2, 3, 2, 0]
    assert federation.test.y.tolist() == [2, 3, 1, 3]


@pytest.mark.parametrize(
    ("labels", "numbers", "classes"),
    [([0, 4, 4, 1], [4, 0, 4, 1], 5), ([True, False, False, True], [0, 1, 0, 1], 2)],
)
def test_labels_that_are_numbers_stay(labels: list[Any], numbers: list[int], classes: int) -> None:
    federation = Federation.from_pandas(frame(ill=labels), **WANTED)
    assert federation.examples.y.tolist() == numbers
    assert (federation.num_classes, federation.class_names) == (classes, None)


def test_nullable_and_categorical_columns_are_read_like_others() -> None:
    plain = Federation.from_pandas(frame(), **WANTED)
    table = frame().astype({"pulse": "Int64", "age": "Float64", "clinic": "category", "ill": "string"})
    assert data_digest(Federation.from_pandas(table, **WANTED)) == data_digest(plain)


def test_a_text_column_becomes_tokens_of_the_vocabulary() -> None:
    vocabulary = most_frequent_words(ROWS["note"], 2)
    federation = Federation.from_pandas(
        frame(), user="clinic", label="ill", inputs="note", vocabulary=vocabulary, test=frame()
    )
    assert vocabulary.words == ("the", "cat")
    assert isinstance(federation.examples.x, Ragged)
    assert federation.vocabulary is vocabulary
    assert federation.user(1).x[torch.tensor([0, 1])].tolist() == [[2, 3], [2, 2]]
    assert federation.test is not None
    assert isinstance(federation.test.x, Ragged)
    with pytest.raises(InvalidValue, match="column 'note' holds text, which needs a vocabulary"):
        Federation.from_pandas(frame(), user="clinic", label="ill", inputs="note")


def test_a_column_of_arrays_is_stacked_and_lists_of_tokens_may_be_ragged() -> None:
    cells = [np.full((2, 3), i, dtype=np.float32) for i in range(4)]
    federation = Federation.from_pandas(frame(x=cells), user="clinic", label="ill", inputs="x")
    assert flat_inputs(federation.examples).shape == (4, 2, 3)
    assert flat_inputs(federation.examples)[:, 0, 0].tolist() == [1.0, 0.0, 2.0, 3.0]
    tokens = [[4, 5], [6], [7, 8, 9], [1]]
    federation = Federation.from_pandas(frame(x=tokens), user="clinic", label="ill", inputs="x")
    assert isinstance(federation.examples.x, Ragged)
    assert federation.examples.x.values.tolist() == [6, 4, 5, 7, 8, 9, 1]


def test_one_column_of_numbers_is_one_feature() -> None:
    by_name = Federation.from_pandas(frame(), user="clinic", label="ill", inputs="pulse")
    by_list = Federation.from_pandas(frame(), user="clinic", label="ill", inputs=["pulse"])
    assert flat_inputs(by_name.examples).tolist() == [[70.0], [60.0], [80.0], [90.0]]
    assert data_digest(by_name) == data_digest(by_list)


def test_labels_of_any_width_stay_whole_numbers() -> None:
    wide = frame(ill=np.array([0, 1, 2, 1], dtype=np.uint64))
    federation = Federation.from_pandas(wide, **WANTED, test=frame(ill=[1, 0, 2, 1]))
    assert federation.examples.y.tolist() == [1, 0, 2, 1]


def test_what_is_written_to_the_frame_later_does_not_reach_the_federation() -> None:
    table = pandas.DataFrame({"who": [0, 1], "y": [0, 1], "x": [0.5, 1.5]})
    federation = Federation.from_pandas(table, user="who", label="y", inputs=["x"])
    table.loc[:, "x"] = 9.0
    assert flat_inputs(federation.examples).tolist() == [[0.5], [1.5]]


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": "clinics"}, r"must have the column 'clinics'; did you mean 'clinic'\?; it has clinic, ill"),
        ({"label": "sick"}, "table must have the column 'sick'"),
        ({"inputs": ["age", "weight"]}, "table must have the column 'weight'"),
        ({"inputs": ["age", "age"]}, "must be different columns"),
        ({"inputs": ["age", "ill"]}, "must be different columns"),
        ({"inputs": []}, "must be different columns"),
        ({"test": frame().iloc[:0]}, "test table must hold at least one example, got 0"),
        ({"test": frame().drop(columns="age")}, "test table must have the column 'age'"),
        ({"test": frame(ill=[0, 1, 0, 1])}, "labels must be numbers in training and test examples, or text"),
    ],
)
def test_what_is_wrong_with_the_columns_is_said_in_words(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Federation.from_pandas(frame(), **WANTED | options)


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("age", [1.0, NAN, 2.0, 3.0], "column 'age' must hold finite numbers, but row 1 has nan"),
        ("age", [1.0, 2.0, INFINITY, 3.0], "column 'age' must hold finite numbers, but row 2 has inf"),
        ("age", [1.0, 2.0, 1e300, 3.0], r"column 'age' must hold finite numbers, but row 2 has 1e\+300"),
        ("age", [1, "old", 2, 3], "column 'age' must hold finite numbers, but row 1 has 'old'"),
        ("age", ["1", "2", "3", "4"], "column 'age' must hold finite numbers, but row 0 has '1'"),
        ("age", [1, None, 2, 3], "column 'age' must hold finite numbers, but row 1 has nan"),
        ("ill", [1, None, 0, 1], "column 'ill' must hold labels without gaps, but row 1 has nan"),
        ("ill", ["no", None, "no", "yes"], "column 'ill' must hold labels, .* but row 1 has"),
        ("ill", ["no", 1, "no", "yes"], "column 'ill' must hold labels, .* but row 1 has 1"),
        ("ill", ["no", "", "no", "yes"], "column 'ill' must hold labels, .* but row 1 has ''"),
        ("ill", [0.5, 1.0, 0.0, 1.0], "column 'ill' must hold labels, .* but row 0 has 0.5"),
        ("ill", [0, -1, 1, 1], "labels must be at least 0, got -1"),
        ("clinic", ["a", None, "b", "c"], "column 'clinic' must hold users, .* but row 1 has"),
        ("clinic", [1, NAN, 2, 3], "column 'clinic' must hold users without gaps, but row 1 has nan"),
    ],
)
def test_a_wrong_cell_is_named(column: str, cells: list[Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Federation.from_pandas(frame(**{column: cells}), **WANTED)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[1.0], [1.0, 2.0], [1.0], [1.0]], r"of one shape, but row 1 has \(2,\) and row 0 has \(1,\)"),
        ([[[1], [1, 2]]] * 4, "row 0 has a list of lists of unequal lengths"),
        ([[1], [], [2], [3]], "column 'x' must hold inputs of one shape, but row 1"),
        ([[1.0], [NAN], [2.0], [3.0]], "column 'x' must hold finite numbers, but row 1 has nan"),
        (["a", None, "b", "c"], "column 'x' must hold numbers, texts or pictures, but row 0 has 'a'"),
    ],
)
def test_a_wrong_input_is_named(cells: list[Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Federation.from_pandas(frame(x=cells), user="clinic", label="ill", inputs="x")


def test_an_empty_frame_and_what_is_no_frame_are_refused() -> None:
    with pytest.raises(InvalidValue, match="table must hold at least one example, got 0"):
        Federation.from_pandas(frame().iloc[:0], **WANTED)
    with pytest.raises(InvalidType, match=r"frame must be a DataFrame of pandas, got builtins\.dict"):
        Federation.from_pandas(ROWS, **WANTED)
    with pytest.raises(InvalidType, match=r"test must be a DataFrame of pandas, got builtins\.tuple"):
        Federation.from_pandas(frame(), **WANTED, test=([[1.0, 2.0]], [0]))
    twice = frame().rename(columns={"pulse": "age"})
    with pytest.raises(InvalidValue, match="column 'age' must be there once, got 2 of them"):
        Federation.from_pandas(twice, user="clinic", label="ill", inputs=["age"])


class ClassLabel:
    """What a feature of Hugging Face knows of its classes."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def int2str(self, values: int) -> str:
        return self.names[values]


class Table:
    """As much of ``datasets.Dataset`` as is asked for."""

    def __init__(self, columns: dict[str, Any], features: dict[str, Any], format: str | None = None) -> None:
        self.columns, self.features, self.format = columns, features, format

    @property
    def column_names(self) -> list[str]:
        return list(self.columns)

    def with_format(self, type: str | None) -> Table:
        return Table(self.columns, self.features, type)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return {name: cells[key] for name, cells in self.columns.items()}
        return np.asarray(self.columns[key]) if self.format == "numpy" else self.columns[key]


def table(names: list[str] | None = None, **changes: Any) -> Any:
    image = np.arange(4 * 6 * 5 * 3, dtype=np.uint8).reshape(4, 6, 5, 3)
    columns = {"image": image, "label": [1, 0, 1, 1], "writer": ["b", "a", "b", "b"]} | changes
    return Table(columns, {"label": ClassLabel(names)} if names else {"label": "int64"})


def test_a_dataset_of_pictures_is_scaled_and_has_its_channels_first() -> None:
    data = table(["cat", "dog", "cow"])
    federation = Federation.from_huggingface(data, user="writer", test=data)
    x = flat_inputs(federation.examples)
    assert x.shape == (4, 3, 6, 5)
    assert np.allclose(x[0].numpy() * 255, data.columns["image"][1].transpose(2, 0, 1))
    assert federation.class_names == ("cat", "dog", "cow")
    assert (federation.num_classes, federation.names.tolist()) == (3, ["a", "b"])
    assert federation.test is not None
    assert federation.test.y.tolist() == [1, 0, 1, 1]


def test_pictures_of_pillow_are_read_by_their_colours() -> None:
    from PIL import Image

    grey = [Image.new("L", (5, 6), 51 * i) for i in range(4)]
    x = flat_inputs(Federation.from_huggingface(table(image=grey), user="writer").examples)
    assert x.shape == (4, 1, 6, 5)
    assert x[:, 0, 0, 0].tolist() == pytest.approx([0.2, 0.0, 0.4, 0.6])
    # Numbers of a palette are no brightness: white is 0 there.
    palette = Image.new("P", (5, 6), 0)
    palette.putpalette([255, 255, 255, 0, 0, 0])
    x = flat_inputs(Federation.from_huggingface(table(image=[palette] * 4), user="writer").examples)
    assert x.shape == (4, 3, 6, 5)
    assert bool((x == 1).all())
    mixed = [*grey[:3], Image.new("RGB", (5, 6))]
    with pytest.raises(InvalidValue, match=r"of one shape, but row 3 has \(6, 5, 3\) and row 0 has \(6, 5\)"):
        Federation.from_huggingface(table(image=mixed), user="writer")


def test_what_is_wrong_with_a_dataset_is_said_in_words() -> None:
    with pytest.raises(InvalidValue, match="table must have the column 'user'; it has image, label, writer"):
        Federation.from_huggingface(table(), user="user")
    with pytest.raises(InvalidValue, match="labels must be at least 0, got -1; it may stand for a missing"):
        Federation.from_huggingface(table(["a", "b"], label=[0, 1, -1, 0]), user="writer")
    with pytest.raises(InvalidValue, match="labels must be below the number of named classes, 2, got 2"):
        Federation.from_huggingface(table(["a", "b"], label=[0, 1, 2, 0]), user="writer")
    with pytest.raises(InvalidType, match=r"dataset must be one split of the data, got .* 'train', 'test'"):
        Federation.from_huggingface({"train": table(), "test": table()}, user="writer")

    class Stream:
        column_names = ("image", "label", "writer")

        def __iter__(self) -> Iterator[Any]:
            return iter(())

    with pytest.raises(InvalidType, match=r"must be a datasets.Dataset .* \(map-style\), got Stream"):
        Federation.from_huggingface(Stream(), user="writer")


def test_names_of_classes_are_at_most_as_many_as_classes() -> None:
    federation = Federation.from_arrays([[0.0]], [0], ["a"], class_names=("no", "yes"))
    assert federation.class_names == ("no", "yes")
    with pytest.raises(InvalidValue, match="there are 2 classes but 3 names of classes"):
        Federation.from_arrays([[0.0]], [0], ["a"], class_names=("no", "yes", "maybe"))
