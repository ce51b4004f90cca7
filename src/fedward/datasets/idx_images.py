"""Images in the IDX files of MNIST and of the sets that were made after it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.datasets import idx
from fedward.datasets.classes import check_classes, keep_classes
from fedward.datasets.directory import MissingFile, require_data_directory
from fedward.datasets.download import attempt, fetch_packed
from fedward.datasets.federate import federate, scale_to_unit
from fedward.datasets.files import read_arrays
from fedward.datasets.first_seen import require_as_remembered
from fedward.datasets.idx_layouts import find_together, present, search_places
from fedward.datasets.partition import Split

SIDE = 28
CLASSES = 10
USERS = 200
IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
TEST_LABELS = {
    "073c3904dfbd3e141ff8aa01cfde6b15": "MNIST",
    "8dea97a4e78c1bd1b5a6e8efbb870b6e": "Fashion-MNIST",
}
"""The MD5 of the official test labels: these two have files of the same names."""


@dataclass(frozen=True, kw_only=True)
class IdxImages:
    """A set of images of 28 x 28 pixels in 10 classes: two files for training, two for testing.

    Args:
      title: how people call it.
      folder: where its files are downloaded to in the data directory; other places where they may lie
        (``idx_layouts``) follow from it and from the title.
      train: how the names of the training files begin.
      test: how the names of the test files begin.
      source: where they can be had.
      download: gets these files (named without ``.gz``) into a folder.
      transposed: whether rows and columns of the images are swapped.
    """

    title: str
    folder: str
    train: str
    test: str
    source: str
    download: Callable[[Path, list[str]], None]
    transposed: bool = False

    @property
    def names(self) -> list[str]:
        """The files, without ``.gz``."""
        return [f"{part}{kind}" for part in (self.train, self.test) for kind in (IMAGES, LABELS)]

    def load(
        self,
        *,
        seed: int,
        data_dir: str | os.PathLike[str] | None = None,
        users: int | None = None,
        split: str = "iid",
        alpha: float | None = None,
        classes_per_user: int | None = None,
        classes: Sequence[int] | None = None,
    ) -> Federation:
        """The federation; everything that can be wrong without the files is found before they are read."""
        how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
        kept = check_classes(classes, CLASSES)
        rng = stream(seed, "partition")
        places = search_places(require_data_directory(data_dir), self.folder, self.title, data_dir)

        files = self.find_files(places)
        require_as_remembered(files.values())
        images, labels = self.read_part(files, self.train)
        x, y, chosen = keep_classes(images, labels, kept)
        ids = None
        if how.name == "natural":
            beside = files[self.train + LABELS].parent
            ids = read_writers(beside / f"{self.train}writers.npy", len(labels))[chosen]
        test_images, test_labels = self.read_part(files, self.test)
        self._refuse_other_set(files, test_labels)
        x_test, y_test, _ = keep_classes(test_images, test_labels, kept)
        return federate(
            (x, y), (x_test, y_test), how, rng, num_classes=len(kept), ids=ids, scale=_with_channel
        )

    def find_files(self, places: Sequence[Path]) -> dict[str, Path]:
        """The path of each official file in the first place that has them all.

        If none has, those that are missing are downloaded into the first place.
        """
        if found := find_together(places, self.names):
            return found
        raw = places[0]
        there = present(raw, self.names)
        missing = [name for name in self.names if name not in there]
        packed = ", ".join(f"{name}.gz" for name in missing)
        with attempt(raw, self.title, f"{packed} (or the same unpacked)", self.source, places):
            self.download(raw, missing)
        return present(raw, self.names)

    def read_part(self, files: dict[str, Path], part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Images and labels of the training or the test files."""
        image_file, label_file = files[part + IMAGES], files[part + LABELS]
        images, labels = idx.read(image_file, 3), idx.read(label_file, 1)
        if images.shape[1:] != (SIDE, SIDE):
            raise InvalidValue(f"{image_file} must hold images of 28 x 28 pixels, got {images.shape[1:]}")
        if len(images) != len(labels):
            raise InvalidValue(
                f"{image_file} has {len(images)} images but {label_file} has {len(labels)} labels"
            )
        if len(labels) and labels.max() >= CLASSES:
            raise InvalidValue(f"{label_file} must hold labels from 0 to 9, got {labels.max()}")
        return (images.transpose(0, 2, 1) if self.transposed else images), labels

    def _refuse_other_set(self, files: dict[str, Path], test_labels: NDArray[np.uint8]) -> None:
        digest = hashlib.md5(test_labels.tobytes(), usedforsecurity=False).hexdigest()
        title = TEST_LABELS.get(digest, self.title)
        if title != self.title:
            place = files[self.test + LABELS].parent
            raise InvalidValue(f"{place} must hold the {self.title} files, got those of {title}")


def like_mnist(
    title: str, folder: str, url: str, md5: Mapping[str, str], sha256: Mapping[str, str]
) -> IdxImages:
    """A set in four packed files that are named like MNIST's and can be downloaded one by one."""
    return IdxImages(
        title=title,
        folder=folder,
        train="train-",
        test="t10k-",
        source=url,
        download=partial(fetch_packed, url, md5, sha256),
    )


def checksums(train_images: str, train_labels: str, test_images: str, test_labels: str) -> dict[str, str]:
    """The four files of MNIST, and the checksums of their packed (``.gz``) form."""
    names = [f"{part}{kind}" for part in ("train-", "t10k-") for kind in (IMAGES, LABELS)]
    return dict(zip(names, (train_images, train_labels, test_images, test_labels), strict=True))


def read_writers(path: Path, num_examples: int) -> NDArray[Any]:
    """The writer of each example, from a file in numpy's format."""
    if not os.path.isfile(path):
        raise MissingFile(
            f"split natural needs the writer of each example in {path}, but there is no such file"
        )
    arrays = read_arrays(path, "an array in numpy's format")
    ids = arrays.get("array")
    if ids is None or ids.dtype.kind not in "iuUS":
        kind = "an archive" if ids is None else f"an array of {ids.dtype}"
        raise InvalidValue(f"{path} must hold whole numbers or strings, got {kind}")
    if ids.shape != (num_examples,):
        raise InvalidValue(
            f"{path} must hold one writer for each of {num_examples} examples, got shape {ids.shape}"
        )
    return ids


def _with_channel(images: NDArray[Any]) -> NDArray[np.float32]:
    return scale_to_unit(images)[:, None]
