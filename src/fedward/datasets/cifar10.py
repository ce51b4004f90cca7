"""CIFAR-10 from the files of its binary version."""

from __future__ import annotations

from typing import Any

from fedward.core.federation import Federation
from fedward.datasets.called_like import called_like
from fedward.datasets.cifar import Cifar

SET = Cifar(
    title="CIFAR-10",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    # Not published with the archive: as several public programs have it, independently.
    sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    folder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    test="test_batch.bin",
    label_bytes=(10,),
    mean=(0.4914, 0.4822, 0.4465),
    deviation=(0.2470, 0.2435, 0.2616),
)


@called_like(SET.load)
def load(**options: Any) -> Federation:
    """Pictures of 32 x 32 pixels in colour: x / 255 in ``[n, 3, 32, 32]``; 50,000 and 10,000 for testing.

    Classes: 0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck. The
    files of the *binary* version lie in ``DIR/cifar-10-batches-bin``; the archive is downloaded if they are
    not there. The Python version is a pickle, which can run any code, and is never read. As floats all
    ten classes take 0.7 GB.

    ::

        federation = cifar10.load(classes=(0, 2), users=200, seed=0)

    Args:
      seed: decides who gets which example.
      users: how many users; 200 if not given.
      split: ``iid``, ``dirichlet``, ``label_skew`` or ``quantity_skew``; no owners are named.
      classes: the classes to keep. They are numbered 0, 1, ... in the order given here.
      standardise: whether each channel is shifted and scaled by its published mean (0.4914, 0.4822,
        0.4465) and standard deviation (0.2470, 0.2435, 0.2616). They are constants, not computed here.

    Krizhevsky, Learning multiple layers of features from tiny images, 2009.
    """
    return SET.load(**options)
