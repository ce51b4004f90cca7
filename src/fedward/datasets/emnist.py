"""The digits of EMNIST from their official IDX files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedward.core.federation import Federation
from fedward.datasets.called_like import called_like
from fedward.datasets.download import fetch_archive
from fedward.datasets.idx_images import IdxImages

URL = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
MD5 = "58c8d27c78d21e728a6bc7b3cc06412e"
"""The archive of all IDX files of EMNIST, about 560 MB; only four of them are unpacked."""


def download(raw: Path, names: list[str]) -> None:
    """Downloads the archive, checks it, and unpacks these files."""
    fetch_archive(URL, MD5, raw, {f"gzip/{name}.gz": f"{name}.gz" for name in names})


SET = IdxImages(
    title="EMNIST",
    folder="EMNIST/raw",
    train="emnist-digits-train-",
    test="emnist-digits-test-",
    source=URL,
    download=download,
    transposed=True,
)


@called_like(SET.load)
def load(**options: Any) -> Federation:
    """Digits of 28 x 28 pixels: x / 255 in ``[n, 1, 28, 28]``; 240,000 for training, 40,000 for testing.

    The files lie in ``DIR/EMNIST/raw``, where torchvision also puts them, in ``DIR/EMNIST``, ``DIR/emnist``
    or DIR itself, packed or not; they are downloaded if they are nowhere. They hold every image with rows
    and columns swapped; here it stands upright, like MNIST. As floats all ten classes take 0.9 GB.

    ::

        federation = emnist.load(users=2400, seed=0)

    Args:
      seed: decides who gets which example.
      users: how many users; 200 if not given.
      split: ``iid`` or a skewed one; these files do not name writers. ``natural`` reads them from
        ``emnist-digits-train-writers.npy``, if you have them: one id for each training example.
      classes: the digits to keep. They are numbered 0, 1, ... in the order given here.

    Cohen, Afshar, Tapson and van Schaik, EMNIST: an extension of MNIST to handwritten letters, 2017.
    """
    return SET.load(**options)
