from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.datasets import emnist
from fedward.datasets.first_seen import NAME

Write = Callable[..., Path]

UPRIGHT = np.zeros((40, 28, 28), dtype=np.uint8)
UPRIGHT[:, 2:26, 14] = 200  # a one: a vertical stroke
UPRIGHT[:, 3, 9:14] = 255  # with a flag at its upper left end


@pytest.fixture
def small_emnist(tmp_path: Path, write_idx: Write) -> Path:
    raw = tmp_path / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    for part, size in (("train", 40), ("test", 20)):
        # As the official files have it: columns first.
        write_idx(raw / f"emnist-digits-{part}-images-idx3-ubyte.gz", UPRIGHT[:size].transpose(0, 2, 1))
        write_idx(raw / f"emnist-digits-{part}-labels-idx1-ubyte.gz", np.arange(size) % 10)
    return tmp_path


def test_digits_stand_upright_as_in_mnist(small_emnist: Path) -> None:
    federation = emnist.load(data_dir=small_emnist, users=4, seed=0)
    assert federation.test is not None
    for x in (federation.examples.x, federation.test.x):
        assert isinstance(x, torch.Tensor)
        assert torch.equal(x[7, 0].mul(255).round().to(torch.uint8), torch.from_numpy(UPRIGHT[0]))
    assert federation.examples.x.is_contiguous()  # type: ignore[union-attr]
    assert torch.bincount(federation.examples.y).tolist() == [4] * 10


def test_classes_and_writers_work_as_for_mnist(small_emnist: Path) -> None:
    writers = small_emnist / "EMNIST" / "raw" / "emnist-digits-train-writers.npy"
    np.save(writers, np.arange(40) // 20)
    federation = emnist.load(data_dir=small_emnist, split="natural", classes=(3, 1), seed=0)
    assert federation.names.tolist() == [0, 1]
    assert torch.bincount(federation.examples.y).tolist() == [4, 4]


def test_four_files_of_the_official_archive_are_unpacked(
    small_emnist: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., list[str]]
) -> None:
    raw = small_emnist / "EMNIST" / "raw"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("gzip/emnist-letters-train-images-idx3-ubyte.gz", gzip.compress(b"not these"))
        for path in sorted(raw.iterdir()):
            file.writestr(f"gzip/{path.name}", path.read_bytes())
            path.unlink()
    monkeypatch.setattr(emnist, "MD5", hashlib.md5(buffer.getvalue()).hexdigest())
    asked = serve({"gzip.zip": buffer.getvalue()})
    assert emnist.load(data_dir=small_emnist, users=4, seed=0).num_users == 4
    assert emnist.load(data_dir=small_emnist, users=4, seed=0).num_users == 4
    assert asked == [emnist.URL]
    assert {path.name for path in raw.iterdir()} == {NAME, *(f"{name}.gz" for name in emnist.SET.names)}


@pytest.mark.usefixtures("no_internet")
def test_without_files_and_network_one_error_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as caught:
        emnist.load(data_dir=tmp_path, seed=0)
    assert isinstance(caught.value, FileNotFoundError)
    assert str(caught.value) == (
        f"{tmp_path / 'EMNIST' / 'raw'} must hold the EMNIST files; put "
        "emnist-digits-train-images-idx3-ubyte.gz, emnist-digits-train-labels-idx1-ubyte.gz, "
        "emnist-digits-test-images-idx3-ubyte.gz, emnist-digits-test-labels-idx1-ubyte.gz "
        f"(or the same unpacked) there, from {emnist.URL}. Looked in {tmp_path / 'EMNIST' / 'raw'}, "
        f"{tmp_path / 'EMNIST'}, {tmp_path / 'emnist'}, {tmp_path}. "
        "Downloading them failed: no route to host"
    )
