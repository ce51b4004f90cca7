"""Fashion-MNIST from its official IDX files."""

from __future__ import annotations

from functools import partial
from typing import Any

from fedward.core.federation import Federation
from fedward.datasets.called_like import called_like
from fedward.datasets.download import fetch_packed
from fedward.datasets.idx_images import IdxImages

URL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
MD5 = {
    "train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310",
}
"""The official files, and the checksums of their packed (``.gz``) form."""

SET = IdxImages(
    title="Fashion-MNIST",
    folder="FashionMNIST/raw",
    train="train-",
    test="t10k-",
    source=URL,
    download=partial(fetch_packed, URL, MD5),
)


@called_like(SET.load)
def load(**options: Any) -> Federation:
    """Clothes of 28 x 28 pixels: x / 255 in ``[n, 1, 28, 28]``; 60,000 for training, 10,000 for testing.

    Classes: 0 T-shirt, 1 trouser, 2 pullover, 3 dress, 4 coat, 5 sandal, 6 shirt, 7 sneaker, 8 bag,
    9 ankle boot. The files lie in ``DIR/FashionMNIST/raw``, packed or not, where torchvision also puts them,
    and are downloaded if they are not there.

    ::

        federation = fashion_mnist.load(users=100, split="dirichlet", alpha=0.5, seed=0)

    Args:
      seed: decides who gets which example.
      users: how many users; 200 if not given.
      split: ``iid`` or ``dirichlet``; this data does not name owners. ``natural`` reads them from
        ``train-writers.npy``, if you have any.
      classes: the classes to keep. They are numbered 0, 1, ... in the order given here.

    Xiao, Rasul and Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning
    algorithms, 2017.
    """
    return SET.load(**options)
