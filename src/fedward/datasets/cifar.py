"""The binary version of CIFAR: records of label bytes and three planes of 32 x 32 pixels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.federation import Federation
from fedward.datasets.classes import check_classes, keep_classes
from fedward.datasets.directory import require_data_directory
from fedward.datasets.download import attempt, fetch_archive
from fedward.datasets.federate import federate, scale_to_unit
from fedward.datasets.files import explain_read_errors
from fedward.datasets.first_seen import require_as_remembered
from fedward.datasets.partition import Split

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
USERS = 200


@dataclass(frozen=True, kw_only=True)
class Cifar:
    """One of the two sets.

    Args:
      title: how people call it.
      url: of the archive.
      md5: the archive's published checksum.
      sha256: its stronger one.
      folder: its folder, in the archive and in the data directory.
      train: its training files.
      test: its test file.
      label_bytes: how many classes each label byte of a record has; the last one is the label.
      mean: of each channel of the training images, scaled to [0, 1].
      deviation: likewise, the standard deviation.
    """

    title: str
    url: str
    md5: str
    sha256: str
    folder: str
    train: tuple[str, ...]
    test: str
    label_bytes: tuple[int, ...]
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]

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
        standardise: bool = False,
    ) -> Federation:
        """The federation; everything that can be wrong without the files is found before they are read."""
        how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
        kept = check_classes(classes, self.label_bytes[-1])
        if not isinstance(standardise, bool):
            raise InvalidType(f"standardise must be true or false, got {standardise!r}")
        rng = stream(seed, "partition")
        folder = require_data_directory(data_dir) / self.folder

        self.complete(folder)
        require_as_remembered(folder / name for name in (*self.train, self.test))
        # File by file: the classes that nobody asked for are not held all at once.
        parts = [self.read(folder / name, kept) for name in self.train]
        train = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
        test = self.read(folder / self.test, kept)
        scale = self._standard if standardise else scale_to_unit
        return federate(train, test, how, rng, num_classes=len(kept), scale=scale)

    def complete(self, folder: Path) -> None:
        """Downloads the archive and unpacks those files that are missing."""
        missing = [name for name in (*self.train, self.test) if not os.path.isfile(folder / name)]
        if not missing:
            return
        with attempt(folder, self.title, ", ".join(missing), self.url):
            members = {f"{self.folder}/{name}": name for name in missing}
            fetch_archive(self.url, self.md5, folder, members, sha256=self.sha256)

    def read(self, path: Path, classes: list[int]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Images ``[n, 3, 32, 32]`` and new labels of these classes.

        Any whole number of records is accepted, so that a part of the set can be used. A file of any other
        length, or with a label that does not exist, is refused.
        """
        with explain_read_errors(path, f"a file of {self.title}"):
            data = np.fromfile(path, dtype=np.uint8)
        length = len(self.label_bytes) + PIXELS
        if not len(data) or len(data) % length:
            raise InvalidValue(
                f"{path} must hold whole records of {length} bytes, at least one, got {len(data)} bytes"
            )
        records = data.reshape(-1, length)
        for place, number in enumerate(self.label_bytes):
            wrong = np.flatnonzero(records[:, place] >= number)
            if len(wrong):
                raise InvalidValue(
                    f"{path} must hold labels from 0 to {number - 1}, but record {wrong[0]} "
                    f"has {records[wrong[0], place]}"
                )
        first = len(self.label_bytes)
        x, y, _ = keep_classes(records[:, first:], records[:, first - 1], classes)
        return x.reshape(-1, *SHAPE), y

    def _standard(self, images: NDArray[Any]) -> NDArray[np.float32]:
        x = scale_to_unit(images)
        x -= np.array(self.mean, dtype=np.float32)[:, None, None]
        x /= np.array(self.deviation, dtype=np.float32)[:, None, None]
        return x
