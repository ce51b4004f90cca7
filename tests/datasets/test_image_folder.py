from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.federation import Federation
from fedward.datasets import image_folder
from fedward.datasets.directory import MissingFile
from support import flat_inputs

Image = pytest.importorskip("PIL.Image", reason="pictures need pillow")


def draw(path: Path, value: int, shape: tuple[int, ...] = (4, 6, 3)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(shape, value, dtype=np.uint8)).save(path)


@pytest.fixture
def by_class(tmp_path: Path) -> Path:
    """Cats are bright and dogs are dark; ten of each, every one its own shade."""
    for i in range(10):
        draw(tmp_path / "pets" / "cat" / f"{i}.png", 200 + i)
        draw(tmp_path / "pets" / "dog" / f"{i}.png", 100 + i)
    return tmp_path


@pytest.fixture
def by_user(tmp_path: Path) -> Path:
    for i in range(10):
        draw(tmp_path / "pets" / f"ann{i}" / "cat" / "1.png", 200 + i)
        draw(tmp_path / "pets" / f"ann{i}" / "dog" / "1.png", 100 + i)
        draw(tmp_path / "pets" / f"ann{i}" / "dog" / "2.png", 100 + i)
    return tmp_path


def load(data_dir: Path, **options: Any) -> Federation:
    usual: dict[str, Any] = {"folder": "pets", "data_dir": data_dir, "seed": 0}
    return image_folder.load(**usual | options)


def shades(x: Any) -> list[int]:
    return [int(shade) for shade in x[:, 0, 0, 0].mul(255).round()]


def test_classes_are_folders_in_the_order_of_their_names(by_class: Path) -> None:
    federation = load(by_class, split="iid", users=4)
    assert federation.test is not None
    assert flat_inputs(federation.examples).shape == (16, 3, 4, 6)
    assert flat_inputs(federation.test).shape == (4, 3, 4, 6)
    for examples in (federation.examples, federation.test):
        for shade, label in zip(shades(examples.x), examples.y.tolist(), strict=True):
            assert label == (0 if shade >= 200 else 1)
    everything = shades(federation.examples.x) + shades(federation.test.x)
    assert sorted(everything) == [*range(100, 110), *range(200, 210)]
    assert torch.bincount(federation.test.y).tolist() == [2, 2]
    other = load(by_class, split="iid", users=4, seed=1)
    assert other.test is not None
    assert torch.equal(other.test.x, federation.test.x)  # type: ignore[arg-type]
    assert not torch.equal(other.examples.x, federation.examples.x)  # type: ignore[arg-type]


def test_users_are_folders_with_the_natural_split(by_user: Path) -> None:
    federation = load(by_user)
    assert federation.test is not None
    assert federation.num_users == 8
    for user, name in enumerate(federation.names):
        shade = int(name.removeprefix("ann"))
        assert shades(federation.user(user).x) == [200 + shade, 100 + shade, 100 + shade]
        assert federation.user(user).y.tolist() == [0, 1, 1]
    assert len(federation.test) == 6
    assert load(by_user, users=3).num_users == 3


def test_test_pictures_can_have_a_folder_of_their_own(by_user: Path) -> None:
    draw(by_user / "held" / "dog" / "x.png", 7)
    federation = load(by_user, test_folder="held")
    assert federation.test is not None
    assert federation.num_users == 10
    assert shades(federation.test.x) == [7]
    assert federation.test.y.tolist() == [1]
    draw(by_user / "held" / "bird" / "x.png", 7)
    with pytest.raises(InvalidValue, match="held must hold no other classes than training, got bird"):
        load(by_user, test_folder="held")


def test_a_picture_of_another_size_is_named_unless_a_size_is_given(by_class: Path) -> None:
    draw(by_class / "pets" / "dog" / "3.png", 103, (5, 6, 3))
    with pytest.raises(InvalidValue) as caught:
        load(by_class, split="iid")
    assert str(caught.value) == (
        f"pictures must be alike: {by_class / 'pets' / 'dog' / '3.png'} has (channels, height, width) "
        f"(3, 5, 6), but {by_class / 'pets' / 'cat' / '0.png'} has (3, 4, 6); "
        "the option size makes them alike"
    )
    assert flat_inputs(load(by_class, split="iid", size=(8, 8)).examples).shape == (16, 3, 8, 8)
    assert flat_inputs(load(by_class, split="iid", size=[8, 4]).examples).shape == (16, 3, 8, 4)


def test_a_grey_picture_among_coloured_ones_is_named_unless_a_colour_is_given(by_class: Path) -> None:
    draw(by_class / "pets" / "dog" / "3.png", 103, (4, 6))
    with pytest.raises(InvalidValue, match=r"3\.png has .*\(1, 4, 6\), .*the option colour makes them alike"):
        load(by_class, split="iid")
    assert flat_inputs(load(by_class, split="iid", colour="grey").examples).shape == (16, 1, 4, 6)
    assert flat_inputs(load(by_class, split="iid", colour="rgb").examples).shape == (16, 3, 4, 6)


def test_a_damaged_picture_or_another_file_is_named(by_class: Path) -> None:
    path = by_class / "pets" / "cat" / "5.png"
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(InvalidValue, match=r"cat/5\.png must be a whole PNG or JPEG picture"):
        load(by_class, split="iid")
    path.unlink()
    (by_class / "pets" / "cat" / "notes.txt").write_text("x")
    with pytest.raises(InvalidValue, match=r"cat must hold PNG and JPEG pictures only, got notes\.txt"):
        load(by_class, split="iid")


def test_the_wrong_depth_is_refused_in_words(by_class: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"cat must hold its pictures in folders, got 0\.png beside them"):
        load(by_class)
    (tmp_path / "flat" / "ann").mkdir(parents=True)
    with pytest.raises(InvalidValue, match=r"must hold pictures as <user>/<class>/picture\.png, got none"):
        load(tmp_path, folder="flat")
    draw(tmp_path / "deep" / "ann" / "cat" / "1.png", 3)
    with pytest.raises(InvalidValue, match="ann must hold PNG and JPEG pictures only, got cat"):
        load(tmp_path, folder="deep", split="iid")
    (by_class / "pets" / "readme.txt").write_text("not a picture")
    assert load(by_class, split="iid", users=2).num_users == 2
    draw(by_class / "pets" / "lost.png", 3)
    with pytest.raises(InvalidValue, match=r"pets must hold its pictures in folders, got lost\.png"):
        load(by_class, split="iid")


def test_too_little_of_anything_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match="pets must be a folder of pictures, but there is no such folder"):
        load(tmp_path)
    (tmp_path / "pets").mkdir()
    with pytest.raises(InvalidValue, match="got none"):
        load(tmp_path, split="iid")
    draw(tmp_path / "pets" / "cat" / "1.png", 3)
    with pytest.raises(InvalidValue, match="pets must hold at least 2 classes, got cat"):
        load(tmp_path, split="iid")
    draw(tmp_path / "pets" / "dog" / "1.png", 3)
    with pytest.raises(InvalidValue, match="at least 2 pictures of class cat, one to train on, got 1"):
        load(tmp_path, split="iid")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": (0, 4)}, "height must be at least 1"),
        ({"size": (4, 0)}, "width must be at least 1"),
        ({"colour": "blue"}, "colour must be one of"),
        ({"test_share": 2.0}, "test share must be"),
        ({"split": "random"}, "split must be one of"),
    ],
)
def test_wrong_options_are_refused_before_any_file_is_read(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        load(tmp_path, **options)


@pytest.mark.parametrize("size", [32, "32", (1, 2, 3), (1.5, 2)])
def test_sizes_of_a_wrong_type_are_refused(tmp_path: Path, size: Any) -> None:
    with pytest.raises(InvalidType, match="must be"):
        load(tmp_path, size=size)
