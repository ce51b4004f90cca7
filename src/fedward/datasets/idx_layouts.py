"""The places and names under which the IDX files of MNIST and its followers are found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedward.datasets.directory import SYSTEM, is_named

TITLES = ("MNIST", "Fashion-MNIST", "EMNIST")
"""The sets whose files have the same names, or could be taken for each other's."""


def search_places(
    root: Path, folder: str, title: str, data_dir: str | os.PathLike[str] | None = None
) -> tuple[Path, ...]:
    """Where the files of a set may lie, the first to be looked at first.

    That is ``folder``, where torchvision and our downloads put them; a folder named after the set; and
    ``root`` itself, unless it bears the name of another set. Where nobody named a directory, the folders of
    Debian's packages follow.

    >>> places = search_places(Path("data"), "FashionMNIST/raw", "Fashion-MNIST", "data")
    >>> [place.as_posix() for place in places]
    ['data/FashionMNIST/raw', 'data/FashionMNIST', 'data/Fashion-MNIST', 'data/fashion-mnist', \
'data/fashion_mnist', 'data']
    """
    lower = title.lower()
    names = dict.fromkeys([folder, folder.partition("/")[0], title, lower, lower.replace("-", "_")])
    places = [root / name for name in names]
    if _plain(root.absolute().name) not in {_plain(other) for other in TITLES if other != title}:
        places.append(root)
    if not is_named(data_dir):
        places.append(SYSTEM / lower)
    return tuple(places)


def find_together(places: Sequence[Path], names: Sequence[str]) -> dict[str, Path]:
    """The path of each file in the first place that has all of them; nothing if there is no such place."""
    for place in places:
        found = present(place, names)
        if len(found) == len(names):
            return found
    return {}


def present(place: Path, names: Sequence[str]) -> dict[str, Path]:
    """The path of each of these files that lies in one place: unpacked if it can be, else packed."""
    found = {}
    for name in names:
        path = next((path for path in _spellings(place, name) if os.path.isfile(path)), None)
        if path is not None:
            found[name] = path
    return found


def _spellings(place: Path, name: str) -> Iterator[Path]:
    """``train-images-idx3-ubyte`` is also written ``train-images.idx3-ubyte``, and both may be packed."""
    dotted = name.replace("-idx", ".idx")
    for spelling in (name, dotted, f"{name}.gz", f"{dotted}.gz"):
        yield place / spelling


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
