"""MNIST from its official IDX files, with the writer of each digit where that is known."""

from __future__ import annotations

from typing import Any

from fedward.core.federation import Federation
from fedward.datasets.called_like import called_like
from fedward.datasets.idx_images import checksums, like_mnist

URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MD5 = checksums(
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
# Not published with the files: as several public programs that download them have it, independently.
SHA256 = checksums(
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
)
SET = like_mnist("MNIST", "MNIST/raw", URL, MD5, SHA256)


@called_like(SET.load)
def load(**options: Any) -> Federation:
    """Digits of 28 x 28 pixels: x / 255 in ``[n, 1, 28, 28]``; 60,000 for training, 10,000 for testing.

    The files lie in ``DIR/MNIST/raw``, where torchvision also puts them, in ``DIR/MNIST``, ``DIR/mnist`` or
    DIR itself, packed or not; they are downloaded if they are nowhere. Writers are read from
    ``train-writers.npy`` beside them (one id for each training example); no download has that file.

    ::

        federation = mnist.load(classes=(0, 1), users=200, seed=0)

    Args:
      seed: decides who gets which example.
      users: how many users; 200 if not given, or all writers with the split ``natural``.
      split: ``iid``, ``dirichlet``, ``label_skew``, ``quantity_skew``, or ``natural``: a user is a writer and
        bears the writer's id as name.
      classes: the digits to keep. They are numbered 0, 1, ... in the order given here.

    LeCun, Cortes and Burges, The MNIST database of handwritten digits, 1998. The writers: Yadav and Bottou,
    Cold case: the lost MNIST digits, 2019.
    """
    return SET.load(**options)
