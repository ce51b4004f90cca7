"""Any folder of pictures as a federation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue, open_unit, whole
from fedward.core.federation import Federation
from fedward.datasets.directory import MissingFile, require_data_directory
from fedward.datasets.federate import federate, scale_to_unit
from fedward.datasets.held_out import choose_held_out
from fedward.datasets.partition import Split
from fedward.datasets.pictures import check_colour, folders, pictures, read_picture

USERS = 10


def load(
    *,
    folder: str,
    seed: int,
    data_dir: str | os.PathLike[str] | None = None,
    users: int | None = None,
    split: str = "natural",
    alpha: float | None = None,
    classes_per_user: int | None = None,
    size: Sequence[int] | None = None,
    colour: str | None = None,
    test_folder: str | None = None,
    test_share: float = 0.2,
) -> Federation:
    """PNG and JPEG pictures: x / 255 in ``[n, 1 or 3, height, width]``; a class is a folder.

    With the split ``natural`` a picture is ``FOLDER/<user>/<class>/picture.png``, with any other
    ``FOLDER/<class>/picture.png``. Rules:

    - Classes are numbered in the order of their names.
    - Pictures of different sizes are an error that names the first that differs, unless ``size`` is given;
      likewise grey ones among coloured ones, unless ``colour`` is.
    - Hidden files and folders (.name) are not seen. Beside the pictures of a class any other file is an
      error; beside the folders of users and classes only a picture is, being out of place there.
    - Test pictures are those of ``test_folder`` (``<class>/picture.png``, no other classes), or else a share:
      of the users with the split ``natural``, of each class otherwise, the same for every seed.

    ::

        federation = image_folder.load(folder="leaves", split="iid", users=20, size=(32, 32), seed=0)

    Args:
      folder: the folder, from DIR.
      seed: decides who gets which picture.
      users: how many users; 10 if not given, or all with the split ``natural``.
      split: ``natural``, ``iid``, ``dirichlet``, ``label_skew`` or ``quantity_skew``.
      size: height and width that every picture is scaled to.
      colour: ``grey`` or ``rgb``, which every picture is converted to.
      test_folder: a folder of test pictures, from DIR.
      test_share: what is held out for testing if there is none.
    """
    how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
    scaled = _check_size(size)
    check_colour(colour)
    open_unit("test share", test_share)
    rng = stream(seed, "partition")
    root = require_data_directory(data_dir)

    natural = how.name == "natural"
    found = list_pictures(_require_folder(root / folder), by_user=natural)
    classes = sorted({each.label for each in found})
    if len(classes) < 2:
        raise InvalidValue(
            f"{root / folder} must hold at least 2 classes, got {', '.join(classes) or 'none'}"
        )
    if test_folder is None:
        names = np.array([each.user if natural else each.path.name for each in found])
        tested = _shares(found, names, natural, test_share)
    else:
        tests = list_pictures(_require_folder(root / test_folder), by_user=False)
        strange = sorted({each.label for each in tests} - set(classes))
        if strange:
            raise InvalidValue(
                f"{root / test_folder} must hold no other classes than training, got {strange[0]}"
            )
        tested = np.arange(len(found) + len(tests)) >= len(found)
        found = found + tests

    x = read_all([each.path for each in found], scaled, colour)
    y = np.array([classes.index(each.label) for each in found])
    ids = np.array([each.user for each in found])[~tested] if natural else None
    return federate(
        (x[~tested], y[~tested]),
        (x[tested], y[tested]),
        how,
        rng,
        num_classes=len(classes),
        ids=ids,
        scale=scale_to_unit,
    )


class Found(NamedTuple):
    path: Path
    label: str
    user: str


def list_pictures(root: Path, by_user: bool) -> list[Found]:
    """All pictures below a folder, with the class and the user that their folders say."""
    owners = [(owner.name, owner) for owner in folders(root)] if by_user else [("", root)]
    found = [
        Found(path, label.name, name)
        for name, owner in owners
        for label in folders(owner)
        for path in pictures(label)
    ]
    if not found:
        depth = "<user>/<class>" if by_user else "<class>"
        raise InvalidValue(f"{root} must hold pictures as {depth}/picture.png, got none")
    return found


def read_all(paths: list[Path], size: tuple[int, int] | None, colour: str | None) -> NDArray[np.uint8]:
    """Pictures of one size and one number of channels."""
    first = read_picture(paths[0], colour=colour, size=size)
    x = np.empty((len(paths), *first.shape), dtype=np.uint8)
    for place, path in enumerate(paths):
        picture = read_picture(path, colour=colour, size=size)
        if picture.shape != first.shape:
            option = "colour" if picture.shape[1:] == first.shape[1:] else "size"
            raise InvalidValue(
                f"pictures must be alike: {path} has (channels, height, width) {picture.shape}, "
                f"but {paths[0]} has {first.shape}; the option {option} makes them alike"
            )
        x[place] = picture
    return x


def _shares(found: list[Found], names: NDArray[np.str_], natural: bool, share: float) -> NDArray[np.bool_]:
    if natural:
        users = np.unique(names)
        return np.isin(names, users[choose_held_out(users, share)])
    tested = np.zeros(len(found), dtype=bool)
    labels = np.array([each.label for each in found])
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        tested[of_class] = choose_held_out(names[of_class], share, f"pictures of class {label}")
    return tested


def _check_size(size: Sequence[int] | None) -> tuple[int, int] | None:
    if size is None:
        return None
    if isinstance(size, str) or not isinstance(size, Sequence) or len(size) != 2:
        raise InvalidType(f"size must be a height and a width, got {size!r}")
    return int(whole("height", size[0])), int(whole("width", size[1]))


def _require_folder(path: Path) -> Path:
    if not os.path.isdir(path):
        raise MissingFile(f"{path} must be a folder of pictures, but there is no such folder; put it there")
    return path
