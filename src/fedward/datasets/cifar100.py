"""CIFAR-100 from the files of its binary version."""

from __future__ import annotations

from typing import Any

from fedward.core.federation import Federation
from fedward.datasets.called_like import called_like
from fedward.datasets.cifar import Cifar

SET = Cifar(
    title="CIFAR-100",
    url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    md5="03b5dce01913d631647c71ecec9e9cb8",
    # Not published with the archive: as several public programs have it, independently.
    sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    folder="cifar-100-binary",
    train=("train.bin",),
    test="test.bin",
    label_bytes=(20, 100),
    mean=(0.5071, 0.4865, 0.4409),
    deviation=(0.2673, 0.2564, 0.2762),
)


@called_like(SET.load)
def load(**options: Any) -> Federation:
    """Pictures of 32 x 32 pixels in colour: x / 255 in ``[n, 3, 32, 32]``, in 100 classes of 500 and 100.

    Labels are the fine ones, 0 to 99 in the alphabetical order of their names. The files of the *binary*
    version lie in ``DIR/cifar-100-binary``; the archive is downloaded if they are not there. Files with fewer
    records are read as well. As floats the whole set takes 0.7 GB.

    ::

        federation = cifar100.load(users=100, seed=0)

    Args:
      seed: decides who gets which example.
      users: how many users; 200 if not given.
      split: ``iid``, ``dirichlet``, ``label_skew`` or ``quantity_skew``; no owners are named.
      classes: the classes to keep. They are numbered 0, 1, ... in the order given here.
      standardise: whether each channel is shifted and scaled by its published mean (0.5071, 0.4865,
        0.4409) and standard deviation (0.2673, 0.2564, 0.2762). They are constants, not computed here.

    Krizhevsky, Learning multiple layers of features from tiny images, 2009.
    """
    return SET.load(**options)
