"""MNIST from its official IDX files, with the writer of each digit where that is known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pooch
from numpy.typing import NDArray

from fedward.core.federation import Federation
from fedward.core.randomness import stream
from fedward.core.validate import InvalidType, InvalidValue, whole
from fedward.datasets import idx
from fedward.datasets.directory import MissingFile, data_directory
from fedward.datasets.federate import federate
from fedward.datasets.partition import Split

USERS = 200
URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MD5 = {
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
"""The official files, and the checksums of their packed (``.gz``) form."""


def load(
    *,
    seed: int,
    data_dir: str | os.PathLike[str] | None = None,
    users: int | None = None,
    split: str = "iid",
    alpha: float | None = None,
    classes: Sequence[int] | None = None,
) -> Federation:
    """Digits of 28 x 28 pixels: x / 255 in ``[n, 1, 28, 28]``; 60,000 for training, 10,000 for testing.

    The files lie in ``DIR/MNIST/raw``, packed or not, where torchvision also puts them, and are downloaded
    if they are not there. Writers are read from ``train-writers.npy`` beside them (one id for each
    training example); no download has that file.

    ::

        federation = mnist.load(classes=(0, 1), users=200, seed=0)

    Args:
      seed: decides who gets which example.
      data_dir: DIR; ``$FEDWARD_DATA`` or a cache of this user if not given.
      users: how many users; 200 if not given, or all writers with the split ``natural``.
      split: ``iid``, ``dirichlet``, or ``natural``: a user is a writer, and bears the writer's id as name.
      alpha: the concentration of a Dirichlet split.
      classes: the digits to keep. They are numbered 0, 1, ... in the order given here.

    LeCun, Cortes and Burges, The MNIST database of handwritten digits, 1998. The writers: Yadav and Bottou,
    Cold case: the lost MNIST digits, 2019.
    """
    how = Split.of(split, users, alpha, usual_users=USERS)
    digits = _check_classes(classes)
    rng = stream(seed, "partition")
    raw = data_directory(data_dir) / "MNIST" / "raw"

    files = find_files(raw)
    images, labels = _read_part(files, "train")
    ids = None
    if how.name == "natural":
        ids = read_writers(raw, "train", len(labels))[np.isin(labels, digits)]
    train = _prepare(images, labels, digits)
    test = _prepare(*_read_part(files, "t10k"), digits)
    return federate(train, test, how, rng, num_classes=len(digits), ids=ids)


def find_files(raw: Path) -> dict[str, Path]:
    """The path of each official file, after a download of those that are missing."""
    found = _present(raw)
    missing = [name for name in MD5 if name not in found]
    try:
        for name in missing:
            download(raw, name)
    except (OSError, ValueError) as error:  # no network, no permission, wrong checksum
        packed = ", ".join(f"{name}.gz" for name in missing)
        raise MissingFile(
            f"{raw} must hold the MNIST files; put {packed} there (or the same unpacked). "
            f"Downloading them failed: {error}"
        ) from error
    return _present(raw) if missing else found


def download(raw: Path, name: str) -> None:
    """Downloads one packed file and checks it. This is the only function here that uses the network."""
    pooch.retrieve(f"{URL}{name}.gz", known_hash=f"md5:{MD5[name]}", fname=f"{name}.gz", path=raw)


def read_writers(raw: Path, part: str, num_examples: int) -> NDArray[Any]:
    """The writer of each example, from ``PART-writers.npy`` (part: ``train`` or ``t10k``)."""
    path = raw / f"{part}-writers.npy"
    if not path.is_file():
        raise MissingFile(
            f"split natural needs the writer of each example in {path}, but there is no such file"
        )
    try:
        ids = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged header makes numpy raise almost anything, tokenize errors included
        raise InvalidValue(
            f"{path} must be an array in numpy's format, but reading it failed: {error}"
        ) from error
    if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iuUS":
        kind = f"an array of {ids.dtype}" if isinstance(ids, np.ndarray) else "an archive"
        raise InvalidValue(f"{path} must hold whole numbers or strings, got {kind}")
    if ids.shape != (num_examples,):
        raise InvalidValue(
            f"{path} must hold one writer for each of {num_examples} examples, got shape {ids.shape}"
        )
    return ids


def _present(raw: Path) -> dict[str, Path]:
    found = {}
    for name in MD5:
        for path in (raw / f"{name}.gz", raw / name):  # if both are there, the unpacked one
            if path.is_file():
                found[name] = path
    return found


def _read_part(files: dict[str, Path], part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    image_file, label_file = files[f"{part}-images-idx3-ubyte"], files[f"{part}-labels-idx1-ubyte"]
    images, labels = idx.read(image_file, 3), idx.read(label_file, 1)
    if images.shape[1:] != (28, 28):
        raise InvalidValue(f"{image_file} must hold images of 28 x 28 pixels, got {images.shape[1:]}")
    if len(images) != len(labels):
        raise InvalidValue(f"{image_file} has {len(images)} images but {label_file} has {len(labels)} labels")
    if len(labels) and labels.max() > 9:
        raise InvalidValue(f"{label_file} must hold labels from 0 to 9, got {labels.max()}")
    return images, labels


def _prepare(
    images: NDArray[np.uint8], labels: NDArray[np.uint8], digits: list[int]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    number = np.full(10, -1, dtype=np.int64)
    number[digits] = np.arange(len(digits))
    y = number[labels]
    kept = y >= 0
    return np.divide(images[kept], 255, dtype=np.float32)[:, None], y[kept]


def _check_classes(classes: Sequence[int] | None) -> list[int]:
    if classes is None:
        return list(range(10))
    if isinstance(classes, (str, bytes)) or not isinstance(classes, Sequence):
        raise InvalidType(f"classes must be a list of digits, got {classes!r}")
    digits = [int(whole("class", digit, at_least=0)) for digit in classes]
    if any(digit > 9 for digit in digits):
        raise InvalidValue(f"classes must be digits from 0 to 9, got {max(digits)}")
    if len(set(digits)) != len(digits) or len(digits) < 2:
        raise InvalidValue(f"classes must be at least 2 different digits, got {digits}")
    return digits
