from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fedward.base.validate import InvalidValue
from fedward.datasets.pictures import check_colour, folders, pictures, read_picture


def picture(height: int = 4, width: int = 6, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def save(path: Path, pixels: Any, mode: str | None = None, **options: Any) -> Path:
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path, **options)
    return path


def test_channels_come_first(tmp_path: Path) -> None:
    pixels = picture()
    found = read_picture(save(tmp_path / "x.png", pixels))
    assert np.array_equal(found, pixels.transpose(2, 0, 1))
    assert found.dtype == np.uint8
    grey = read_picture(save(tmp_path / "g.png", pixels[:, :, 0]))
    assert np.array_equal(grey, pixels[None, :, :, 0])


def test_a_picture_of_another_size_than_expected_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "x.png", picture())
    assert read_picture(path, expected=(4, 6)).shape == (3, 4, 6)
    with pytest.raises(InvalidValue, match=r"x\.png must have 6 x 4 pixels, got 4 x 6"):
        read_picture(path, expected=(6, 4))


@pytest.mark.parametrize(
    ("mode", "channels"), [("L", 1), ("1", 1), ("LA", 1), ("RGB", 3), ("RGBA", 3), ("P", 3)]
)
def test_every_usual_kind_is_read_as_grey_or_colour(tmp_path: Path, mode: str, channels: int) -> None:
    path = save(tmp_path / "x.png", picture(), mode)
    assert read_picture(path).shape == (channels, 4, 6)
    assert read_picture(path, colour="grey").shape == (1, 4, 6)
    assert read_picture(path, colour="rgb").shape == (3, 4, 6)


def test_jpeg_is_read_about_as_it_was_written(tmp_path: Path) -> None:
    pixels = np.zeros((16, 16, 3), dtype=np.uint8)
    pixels[:, 8:, 0] = 250
    found = read_picture(save(tmp_path / "x.jpg", pixels, quality=95))
    assert np.abs(found.astype(int) - pixels.transpose(2, 0, 1)).mean() < 5


def test_pictures_are_cut_and_scaled(tmp_path: Path) -> None:
    pixels = np.zeros((10, 20, 3), dtype=np.uint8)
    pixels[2:6, 4:12] = 200
    path = save(tmp_path / "x.png", pixels)
    assert (read_picture(path, box=(4, 2, 12, 6)) == 200).all()
    scaled = read_picture(path, box=(4, 2, 12, 6), size=(3, 5))
    assert scaled.shape == (3, 3, 5)
    assert (scaled == 200).all()


def test_more_than_eight_bits_a_channel_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    Image.fromarray(np.arange(24, dtype=np.uint16).reshape(4, 6)).save(path)
    with pytest.raises(InvalidValue, match=r"deep\.png must have 8 bits a channel, got a picture of mode I"):
        read_picture(path, colour="grey")


def test_another_format_under_the_name_of_a_picture_is_refused(tmp_path: Path) -> None:
    for name, data in (("text.png", b"<html>"), ("empty.jpg", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InvalidValue, match=rf"{name} must be a whole PNG or JPEG picture: "):
            read_picture(tmp_path / name)
    buffer = io.BytesIO()
    Image.fromarray(picture()).save(buffer, format="GIF")
    (tmp_path / "gif.png").write_bytes(buffer.getvalue())
    with pytest.raises(InvalidValue, match=r"gif\.png must be a whole PNG or JPEG"):
        read_picture(tmp_path / "gif.png")


@given(kind=st.sampled_from(["png", "jpg"]), data=st.data())
def test_a_picture_cut_off_is_refused_unless_all_its_pixels_are_there(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    path = save(tmp_path_factory.getbasetemp() / f"cut.{kind}", picture(24, 24))
    whole = path.read_bytes()
    expected = read_picture(path)
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    try:
        found = read_picture(path)
    except InvalidValue:
        return
    assert np.array_equal(found, expected)


def test_a_missing_file_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"no\.png must be a whole PNG or JPEG picture: No such file"):
        read_picture(tmp_path / "no.png")
    with pytest.raises(InvalidValue, match="Is a directory"):
        read_picture(tmp_path)


def test_folders_are_listed_by_name_and_strangers_refused(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "readme.txt").write_text("x")
    assert [path.name for path in folders(tmp_path)] == ["a", "b"]
    with pytest.raises(InvalidValue, match="must hold PNG and JPEG pictures only, got a"):
        pictures(tmp_path)
    for name in ("2.PNG", "1.jpeg", "3.jpg", ".DS_Store"):
        (tmp_path / "a" / name).write_bytes(b"")
    assert [path.name for path in pictures(tmp_path / "a")] == ["1.jpeg", "2.PNG", "3.jpg"]
    (tmp_path / "a" / "notes.txt").write_text("x")
    with pytest.raises(InvalidValue, match=r"a must hold PNG and JPEG pictures only, got notes\.txt"):
        pictures(tmp_path / "a")
    with pytest.raises(InvalidValue, match="nothing must be a folder: No such file"):
        folders(tmp_path / "nothing")


def test_only_two_colours_exist() -> None:
    check_colour(None)
    check_colour("rgb")
    with pytest.raises(
        InvalidValue, match="colour must be one of grey, rgb, got 'gray'; did you mean 'grey'"
    ):
        check_colour("gray")


def test_a_picture_that_unpacks_to_more_than_anybody_looks_at_is_refused_before_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    Image.new("1", (8200, 8201)).save(path)
    with pytest.raises(InvalidValue, match="at most 67,108,864 pixels, got 8,201 x 8,200"):
        read_picture(path)
