"""Fashion-MNIST from its official IDX files."""

from __future__ import annotations

from typing import Any

from fedward.core.federation import Federation
from fedward.datasets.called_like import called_like
from fedward.datasets.idx_images import checksums, like_mnist

URL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
MD5 = checksums(
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
# Not published with the files: as several public programs that download them have it, independently.
SHA256 = checksums(
    "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
)
SET = like_mnist("Fashion-MNIST", "FashionMNIST/raw", URL, MD5, SHA256)


@called_like(SET.load)
def load(**options: Any) -> Federation:
    """Clothes of 28 x 28 pixels: x / 255 in ``[n, 1, 28, 28]``; 60,000 for training, 10,000 for testing.

    Classes: 0 T-shirt, 1 trouser, 2 pullover, 3 dress, 4 coat, 5 sandal, 6 shirt, 7 sneaker, 8 bag,
    9 ankle boot. The files lie in ``DIR/FashionMNIST/raw``, where torchvision also puts them, in a folder of
    DIR that is named after the set, as ``/usr/share/datasets/fashion-mnist`` of Debian's package
    ``dataset-fashion-mnist``, or in DIR itself, packed or not; they are downloaded if they are nowhere.

    ::

        federation = fashion_mnist.load(users=100, split="dirichlet", alpha=0.5, seed=0)

    Args:
      seed: decides who gets which example.
      users: how many users; 200 if not given.
      split: ``iid`` or a skewed one; this data does not name owners. ``natural`` reads them from
        ``train-writers.npy``, if you have any.
      classes: the classes to keep. They are numbered 0, 1, ... in the order given here.

    Xiao, Rasul and Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning
    algorithms, 2017.
    """
    return SET.load(**options)
