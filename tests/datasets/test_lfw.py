from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fedward.base.validate import InvalidValue
from fedward.datasets import PROPERTIES, lfw
from fedward.datasets.directory import MissingFile
from fedward.datasets.lfw_arrays import read_arrays_of_faces
from support import flat_inputs


def arrays(train: int = 30, test: int = 9) -> dict[str, Any]:
    """Every image shows its own number; what is known of it follows from that number."""
    content: dict[str, Any] = {
        "races": np.array(["white", "black"]),
        "attr_names": np.array(["Bald", "Young"]),
    }
    for part, size in (("train", train), ("test", test)):
        i = np.arange(size)
        x = np.zeros((size, 48, 48, 3), dtype=np.uint8)
        x[:, 0, 0, 0], x[:, 1, 2, 1] = i, 7
        content |= {
            f"x_{part}": x,
            f"y_{part}": (i % 2).astype(np.int8),
            f"users_{part}": (100 - i // 3).astype(np.int16),
            f"race_id_{part}": (i % 5 == 0).astype(np.int8),
            f"attr_{part}": np.stack([8 * i, 255 - 8 * i], axis=1).astype(np.uint8),
        }
    return content


def save(folder: Path, **changes: Any) -> Path:
    (folder / "lfw").mkdir(exist_ok=True)
    content = {name: array for name, array in (arrays() | changes).items() if array is not None}
    np.savez(folder / "lfw" / "lfw48.npz", **content)
    return folder


def numbers(x: Any) -> list[int]:
    return [int(value) for value in x[:, 0, 0, 0].mul(255).round()]


def test_faces_have_channels_first_and_stay_with_their_person(tmp_path: Path) -> None:
    federation = lfw.load(data_dir=save(tmp_path), seed=0)
    assert federation.test is not None
    assert flat_inputs(federation.examples).shape == (30, 3, 48, 48)
    assert federation.num_users == 10
    assert float(federation.examples.x[3, 1, 1, 2]) == pytest.approx(7 / 255)  # type: ignore[index]
    for user, name in enumerate(federation.names):
        own = numbers(federation.user(user).x)
        assert [100 - i // 3 for i in own] == [name] * 3
        assert federation.user(user).y.tolist() == [i % 2 for i in own]
    assert numbers(federation.test.x) == list(range(9))


SPLITS: list[dict[str, Any]] = [
    {},
    {"users": 4},
    {"split": "iid", "users": 2},
    {"split": "dirichlet", "alpha": 0.5, "users": 3},
]


@pytest.mark.parametrize("options", SPLITS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_properties_are_in_the_order_of_the_federation(
    tmp_path: Path, options: dict[str, Any], seed: int
) -> None:
    save(tmp_path)
    federation = lfw.load(data_dir=tmp_path, seed=seed, **options)
    assert federation.test is not None
    known: dict[str, Callable[[int], bool]] = {
        "black": lambda i: i % 5 == 0,
        "white": lambda i: i % 5 != 0,
        "Bald": lambda i: 8 * i > 127.5,
        "Young": lambda i: 255 - 8 * i > 127.5,
    }
    for name, holds in known.items():
        train, test = lfw.properties(name, data_dir=tmp_path, seed=seed, **options)
        assert train.dtype == test.dtype == torch.bool
        assert train.tolist() == [holds(i) for i in numbers(federation.examples.x)]
        assert test.tolist() == [holds(i) for i in numbers(federation.test.x)]
    assert PROPERTIES["lfw"] is lfw.properties


def test_a_property_has_a_threshold_and_a_name(tmp_path: Path) -> None:
    save(tmp_path)
    few, _ = lfw.properties("Bald", data_dir=tmp_path, seed=0, threshold=0.9)
    many, _ = lfw.properties("Bald", data_dir=tmp_path, seed=0, threshold=0.1)
    assert 0 < int(few.sum()) < int(many.sum())
    with pytest.raises(InvalidValue, match="must be one of white, black, Bald, Young, got 'bald'; did you"):
        lfw.properties("bald", data_dir=tmp_path, seed=0)
    with pytest.raises(InvalidValue, match="threshold must be at least 0 and below 1"):
        lfw.properties("Bald", data_dir=tmp_path, seed=0, threshold=1.0)


def test_properties_may_be_missing_from_the_file(tmp_path: Path) -> None:
    save(tmp_path, races=None, attr_names=None)
    assert lfw.load(data_dir=tmp_path, seed=0).num_users == 10
    with pytest.raises(InvalidValue, match="property of"):
        lfw.properties("black", data_dir=tmp_path, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_train": None}, "must hold the array x_train, got races"),
        ({"y_test": None}, "must hold the array y_test"),
        ({"users_train": None}, "must hold the array users_train"),
        ({"race_id_train": None}, "must hold the array race_id_train"),
        ({"x_train": np.zeros((30, 48, 48), np.uint8)}, r"n x 48 x 48 x 3 whole numbers, got uint8 of shape"),
        ({"x_train": np.zeros((30, 50, 48, 3), np.uint8)}, "n x 48 x 48 x 3 whole numbers"),
        ({"x_train": np.zeros((30, 48, 48, 3))}, "whole numbers, got float64"),
        (
            {"x_train": np.zeros((30, 48, 48, 3), np.uint16)},
            "must be at least one image of bytes, got uint16",
        ),
        ({"x_test": np.zeros((0, 48, 48, 3), np.uint8)}, "at least one image of bytes"),
        (
            {"y_train": np.zeros(29, int)},
            r"y_train of .* must be 30 whole numbers, got int64 of shape \(29,\)",
        ),
        ({"y_train": np.full(30, 2)}, "y_train of .* must be 0 or 1, got 2"),
        ({"users_train": np.zeros(30)}, "users_train of .* must be 30 whole numbers, got float64"),
        ({"race_id_train": np.full(30, 2)}, "race_id_train of .* must be from 0 to 1"),
        ({"attr_train": np.zeros((30, 3), np.uint8)}, r"attr_train of .* must be 30 x 2 whole numbers"),
        ({"attr_train": np.zeros((30, 2), np.uint16)}, "must be bytes, 255 times a probability, got uint16"),
        ({"races": np.array([1, 2])}, "races of .* must be n strings, got int64"),
    ],
)
def test_wrong_arrays_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=rf"lfw48\.npz.*{message}|{message}"):
        lfw.load(data_dir=save(tmp_path, **changes), seed=0)


@given(st.data())
def test_an_archive_cut_off_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = save(tmp_path_factory.getbasetemp(), x_train=np.zeros((30, 48, 48, 3), np.uint8)[:30])
    path = folder / "lfw" / "lfw48.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(InvalidValue, match=r"lfw48\.npz must be an archive of arrays of faces"):
        read_arrays_of_faces(folder)


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"lfw/lfw48\.npz must be an archive .*no such file"):
        lfw.load(data_dir=tmp_path, seed=0)
    with pytest.raises(InvalidValue, match="source must be one of arrays, images, got 'files'"):
        lfw.load(data_dir=tmp_path, source="files", seed=0)


PERSONS = [f"Some_One{i}" for i in range(10)]


def draw(folder: Path, name: str = "lfw-deepfunneled", size: int = 250) -> Path:
    """Two images of each of ten persons: grey outside the part that is kept, a colour inside."""

    for i, person in enumerate(PERSONS):
        (folder / name / person).mkdir(parents=True)
        for number in (1, 2):
            pixels = np.full((size, size, 3), 128, dtype=np.uint8)
            pixels[69:185, 67:183] = (20 * i, 100, 100 * number)
            Image.fromarray(pixels).save(folder / name / person / f"{person}_{number:04}.jpg", quality=95)
    return folder / name


def label(folder: Path, lines: list[str], header: str = "name,gender,glasses") -> None:
    (folder / "people.csv").write_text("\n".join([header, *lines]) + "\n")


LABELS = [f"{person},{'male' if i % 2 else 'female'},{i / 10}" for i, person in enumerate(PERSONS)]


@pytest.mark.parametrize("name", ["lfw-deepfunneled", "lfw"])
def test_the_official_folder_is_read_with_the_labels_that_a_file_has(tmp_path: Path, name: str) -> None:
    label(draw(tmp_path, name), LABELS)
    federation = lfw.load(data_dir=tmp_path, source="images", seed=0)
    assert federation.test is not None
    assert isinstance(federation.examples.x, torch.Tensor)
    assert (federation.num_users, len(federation.test)) == (8, 4)
    for user, person in enumerate(federation.names):
        i = PERSONS.index(person)
        examples = federation.user(user)
        assert isinstance(examples.x, torch.Tensor)
        assert examples.y.tolist() == [i % 2] * 2
        for number in (1, 2):
            middle = examples.x[number - 1, :, 1:-1, 1:-1] * 255
            expected = torch.tensor([20.0 * i, 100, 100 * number])
            assert torch.allclose(middle.mean((1, 2)), expected, atol=4)
    train, test = lfw.properties("glasses", data_dir=tmp_path, source="images", seed=0)
    owners = np.repeat(federation.names, 2)
    assert train.tolist() == [PERSONS.index(person) / 10 > 0.5 for person in owners]
    assert len(test) == 4


def test_labels_of_images_go_before_those_of_persons_and_the_rest_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [*LABELS[:6], "Some_One1_0002,female,0", "Some_One9_0001,1,1", "Nobody,0,0"]
    label(draw(tmp_path), lines)
    with caplog.at_level(logging.INFO, logger="fedward"):
        federation = lfw.load(data_dir=tmp_path, source="images", seed=0, split="iid", users=1)
    assert federation.test is not None
    assert "7 images that people.csv does not name are left out" in caplog.text
    assert len(federation.examples) + len(federation.test) == 13
    labels = torch.cat([federation.examples.y, federation.test.y])
    assert int(labels.sum()) == 2 * 3 - 1 + 1


@pytest.mark.parametrize(
    ("header", "lines", "message"),
    [
        ("", [], "must begin with the columns name, gender"),
        ("gender,name", [], "must begin with the columns name, gender .* got gender, name"),
        ("name,gender,a,a", [], "must begin with"),
        ("name,gender", ["x,male,1"], "must hold 2 columns, but line 2 has 3"),
        ("name,gender", ["x,male", "x,male"], "every name once, but line 3 has 'x' again"),
        ("name,gender", ["x,2"], "gender male or female, but line 2 has '2'"),
        ("name,gender,a", ["x,male,yes"], "properties from 0 to 1, but line 2 has 'yes'"),
        ("name,gender,a", ["x,male,nan"], "properties from 0 to 1"),
        ("name,gender,a", ["x,male,1.5"], "properties from 0 to 1"),
        ("name,gender", ["Nobody,male"], "must name persons or images of .*, but it names none"),
    ],
)
def test_wrong_labels_are_named_by_their_line(
    tmp_path: Path, header: str, lines: list[str], message: str
) -> None:
    folder = tmp_path / "lfw"
    (folder / "Some_One").mkdir(parents=True)
    label(folder, lines, header)
    with pytest.raises(InvalidValue, match=rf"people\.csv .*{message}"):
        lfw.load(data_dir=tmp_path, source="images", seed=0)


def test_images_of_another_size_or_damaged_ones_are_named(tmp_path: Path) -> None:
    folder = draw(tmp_path)
    label(folder, LABELS)
    path = folder / PERSONS[3] / f"{PERSONS[3]}_0001.jpg"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InvalidValue, match=r"Some_One3_0001\.jpg must be a whole PNG or JPEG picture"):
        lfw.load(data_dir=tmp_path, source="images", seed=0)

    Image.fromarray(np.zeros((64, 60, 3), np.uint8)).save(path)
    with pytest.raises(InvalidValue, match=r"Some_One3_0001\.jpg must have 250 x 250 pixels, got 64 x 60"):
        lfw.load(data_dir=tmp_path, source="images", seed=0)


def test_missing_images_or_labels_are_named(tmp_path: Path) -> None:
    for prepare in (lambda: None, lambda: draw(tmp_path)):
        prepare()
        with pytest.raises(MissingFile, match=r"put the folder lfw-deepfunneled or lfw there.*people\.csv"):
            lfw.load(data_dir=tmp_path, source="images", seed=0)


def test_real_faces_are_those_of_the_description(real_data: Callable[[str], Path]) -> None:
    folder = real_data("lfw")
    train, test = read_arrays_of_faces(folder)
    assert (len(train), len(test)) == (5097, 1463)
    assert len(np.unique(train.users)) == 2347
    assert len(np.unique(test.users)) == 686
    assert not set(train.users.tolist()) & set(test.users.tolist())
    assert round(float(train.y.mean()), 2) == 0.75
    assert (int(train.properties["black"].sum()), int(test.properties["black"].sum())) == (637, 154)
    assert len(train.properties) == 46
    # "Male" of another model agrees with the verified labels in nearly all cases.
    agreement = ((train.properties["Male"] > 0.5) == train.y).mean()
    assert agreement > 0.9
