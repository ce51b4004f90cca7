"""Labeled Faces in the Wild: is it a man or a woman, and what else can be inferred."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from fedward.base.randomness import stream
from fedward.base.validate import half_open_unit, one_of
from fedward.core.federation import Federation
from fedward.datasets.directory import require_data_directory
from fedward.datasets.faces import Faces
from fedward.datasets.federate import arrange, federate, scale_to_unit
from fedward.datasets.lfw_arrays import read_arrays_of_faces
from fedward.datasets.lfw_images import read_images_of_faces
from fedward.datasets.partition import Split

USERS = 10
SOURCES: dict[str, Callable[[Path], tuple[Faces, Faces]]] = {
    "arrays": read_arrays_of_faces,
    "images": read_images_of_faces,
}


def load(
    *,
    seed: int,
    data_dir: str | os.PathLike[str] | None = None,
    source: str = "arrays",
    users: int | None = None,
    split: str = "natural",
    alpha: float | None = None,
    classes_per_user: int | None = None,
) -> Federation:
    """Faces of 48 x 48 pixels in colour: x / 255 in ``[n, 3, 48, 48]``; label 0 female, 1 male.

    Nobody is in both parts. The source ``arrays`` is ``DIR/lfw/lfw48.npz`` with ``x_train`` (n, 48, 48, 3)
    bytes, ``y_train``, ``users_train`` (a number for each person), optionally ``race_id_train`` with
    ``races`` and ``attr_train`` with ``attr_names``, and the same for ``test``. The source ``images`` is the
    official folder, ``DIR/lfw-deepfunneled`` or ``DIR/lfw``, with one folder a person, and ``people.csv`` in
    it that you supply:

    - It has the columns ``name`` (a person's folder, or an image without ``.jpg``, which goes first),
      ``gender`` (male, female) and any other properties (numbers from 0 to 1).
    - Images that it does not name are left out, and their number is logged.
    - Of 250 x 250 pixels the square from (67, 69) to (183, 185) is kept and scaled by Lanczos' filter.
    - A fifth of the persons is held out for testing, the same for every seed.

    ::

        federation = lfw.load(users=2, split="iid", seed=0)
        black, black_test = lfw.properties("black", users=2, split="iid", seed=0)

    Args:
      seed: decides who gets which example.
      source: ``arrays`` or ``images``.
      users: how many users; 10 if not given, or all persons with the split ``natural``.
      split: ``natural`` (a user is a person), ``iid`` or a skewed one.

    Huang, Ramesh, Berg and Learned-Miller, Labeled faces in the wild, 2007. Gender: Afifi and Abdelhamed,
    AFIF4, 2017.
    """
    how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
    train, test, _ = _read(source, data_dir)
    rng = stream(seed, "partition")
    return federate(
        (train.x, train.y), (test.x, test.y), how, rng, num_classes=2, ids=train.users, scale=scale_to_unit
    )


def properties(
    name: str,
    *,
    seed: int,
    data_dir: str | os.PathLike[str] | None = None,
    source: str = "arrays",
    users: int | None = None,
    split: str = "natural",
    alpha: float | None = None,
    classes_per_user: int | None = None,
    threshold: float = 0.5,
) -> tuple[Tensor, Tensor]:
    """Which examples have a property: for each of ``federation.examples``, and for each of its test examples.

    Give it the arguments that ``load`` was given: the order is then that of the federation. Example i of
    user u has the property if ``train[federation.offsets[u] + i]``.

    Args:
      name: one of ``races`` or of ``attr_names``, or a column of ``people.csv``.
      seed: as for ``load``, like the next six.
      data_dir: as for ``load``.
      source: as for ``load``.
      users: as for ``load``.
      split: as for ``load``.
      alpha: as for ``load``.
      classes_per_user: as for ``load``.
      threshold: a property that is known as a probability holds above this.
    """
    how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
    half_open_unit("threshold", threshold)
    train, test, path = _read(source, data_dir)
    one_of(f"property of {path}", name, train.properties)
    order, _ = arrange(train.y, how, stream(seed, "partition"), train.users)
    found = train.properties[name][order] > threshold, test.properties[name] > threshold
    return torch.from_numpy(found[0]), torch.from_numpy(found[1])


def _read(source: str, data_dir: str | os.PathLike[str] | None) -> tuple[Faces, Faces, Path]:
    one_of("source", source, SOURCES)
    folder = require_data_directory(data_dir)
    return *SOURCES[source](folder), folder
