"""Data sets, one a file: ``load(...)`` returns a federation. A new one is one file and one line here.

Args:
  data_dir: where data sets lie; else ``--data`` or ``FEDWARD_DATA``. DIR is it, and must be there; if none is
    given, DIR is a cache of this user, which a download makes.
  alpha: the concentration of a split ``dirichlet`` (labels and sizes) or ``quantity_skew`` (sizes alone).
  classes_per_user: how many classes each user has with the split ``label_skew``.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from fedward.core.federation import Federation
from fedward.datasets import (
    cifar10,
    cifar100,
    digits,
    emnist,
    fashion_mnist,
    image_folder,
    lfw,
    mnist,
    next_word,
    sentiment140,
    synthetic,
    table,
)
from fedward.datasets.partition import Split

__all__ = ["DATASETS", "PROPERTIES", "Split"]

DATASETS: dict[str, Callable[..., Federation]] = {
    "cifar10": cifar10.load,
    "cifar100": cifar100.load,
    "digits": digits.load,
    "emnist": emnist.load,
    "fashion_mnist": fashion_mnist.load,
    "image_folder": image_folder.load,
    "lfw": lfw.load,
    "mnist": mnist.load,
    "next_word": next_word.load,
    "sentiment140": sentiment140.load,
    "synthetic": synthetic.load,
    "table": table.load,
}
"""The loaders of data sets, by the names that experiment files use."""

PROPERTIES: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "lfw": lfw.properties,
}
"""Marks of the examples with a property, training and test: ``(name, the loader's own arguments)``."""
