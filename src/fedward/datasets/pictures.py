"""PNG and JPEG files as arrays, through pillow."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fedward.base.validate import InvalidValue, one_of

SUFFIXES = (".png", ".jpg", ".jpeg")
COLOURS = {"grey": "L", "rgb": "RGB"}
_MOST_PIXELS = 1 << 26
_CONVERTIBLE = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


def read_picture(
    path: Path,
    *,
    colour: str | None = None,
    expected: tuple[int, int] | None = None,
    box: tuple[int, int, int, int] | None = None,
    size: tuple[int, int] | None = None,
) -> NDArray[np.uint8]:
    """One picture as ``[channels, height, width]`` bytes.

    A file that cannot be decoded to its end is refused by name. Pictures of more than 8 bits a channel are
    refused, since they cannot be converted without a choice of scale. An alpha channel is dropped, and a note
    of the camera on how to turn the picture is not looked at.

    Args:
      path: a PNG or JPEG file.
      colour: ``grey`` or ``rgb``; the picture's own if not given.
      expected: the height and width that it must have.
      box: the part to cut out: left, upper, right, lower.
      size: height and width to scale to, by Lanczos' filter.
    """
    try:
        with Image.open(path, formats=("PNG", "JPEG")) as file:
            # What is unpacked is as large as it says, however small the file is.
            if file.height * file.width > _MOST_PIXELS:
                raise InvalidValue(
                    f"{path} must have at most {_MOST_PIXELS:,} pixels, got {file.height:,} x {file.width:,}"
                )
            _check(path, file.mode, (file.height, file.width), expected)
            # Before cutting and scaling: the numbers of a palette cannot be averaged.
            picture = file.convert(COLOURS[colour] if colour is not None else _own(file.mode))
            if box is not None:
                picture = picture.crop(box)
            if size is not None:
                picture = picture.resize((size[1], size[0]), Image.Resampling.LANCZOS)
            values = np.array(picture, dtype=np.uint8)
    except InvalidValue:
        raise
    except Exception as error:  # a damaged file makes pillow raise almost anything
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InvalidValue(f"{path} must be a whole PNG or JPEG picture: {reason}") from error
    return values[None] if values.ndim == 2 else np.ascontiguousarray(values.transpose(2, 0, 1))


def check_colour(colour: str | None) -> None:
    """Refuses a colour that no picture can be converted to."""
    if colour is not None:
        one_of("colour", colour, COLOURS)


def folders(path: Path) -> list[Path]:
    """The folders in a folder, by name; hidden ones are not seen. A picture beside them is out of place."""
    found = [entry for entry in _entries(path) if entry.is_dir() or entry.suffix.lower() in SUFFIXES]
    for entry in found:
        if not entry.is_dir():
            raise InvalidValue(f"{path} must hold its pictures in folders, got {entry.name} beside them")
    return found


def pictures(path: Path) -> list[Path]:
    """The pictures in a folder, by name. Hidden files are not seen; anything else there is an error."""
    found = _entries(path)
    for entry in found:
        if entry.is_dir() or entry.suffix.lower() not in SUFFIXES:
            raise InvalidValue(f"{path} must hold PNG and JPEG pictures only, got {entry.name}")
    return found


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(path) if not entry.name.startswith("."))
    except OSError as error:
        raise InvalidValue(f"{path} must be a folder: {error.strerror or error}") from error


def _check(path: Path, mode: str, found: tuple[int, int], expected: tuple[int, int] | None) -> None:
    if mode not in _CONVERTIBLE:
        raise InvalidValue(f"{path} must have 8 bits a channel, got a picture of mode {mode}")
    if expected is not None and found != expected:
        raise InvalidValue(
            f"{path} must have {expected[0]} x {expected[1]} pixels, got {found[0]} x {found[1]}"
        )


def _own(mode: str) -> str:
    return "L" if mode in ("1", "L", "LA") else "RGB"
