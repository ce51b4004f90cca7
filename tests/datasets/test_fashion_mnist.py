from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.datasets import fashion_mnist, mnist
from support import flat_inputs


@pytest.fixture
def small_fashion(small_mnist: Path) -> Path:
    (small_mnist / "FashionMNIST").mkdir()
    (small_mnist / "MNIST" / "raw").rename(small_mnist / "FashionMNIST" / "raw")
    return small_mnist


def test_it_is_read_like_mnist_from_its_own_folder(small_fashion: Path) -> None:
    federation = fashion_mnist.load(data_dir=small_fashion, users=6, classes=(9, 0), seed=0)
    assert flat_inputs(federation.examples).shape == (12, 1, 28, 28)
    assert federation.num_classes == 2
    (small_fashion / "FashionMNIST").rename(small_fashion / "MNIST")
    other = mnist.load(data_dir=small_fashion, users=6, classes=(9, 0), seed=0)
    assert torch.equal(federation.examples.x, other.examples.x)  # type: ignore[arg-type]


def test_missing_files_are_downloaded_from_its_own_address(
    small_fashion: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., list[str]]
) -> None:
    path = small_fashion / "FashionMNIST" / "raw" / "t10k-labels-idx1-ubyte.gz"
    data = path.read_bytes()
    path.unlink()
    monkeypatch.setitem(fashion_mnist.MD5, "t10k-labels-idx1-ubyte", hashlib.md5(data).hexdigest())
    monkeypatch.setitem(fashion_mnist.SHA256, "t10k-labels-idx1-ubyte", hashlib.sha256(data).hexdigest())
    asked = serve({path.name: data})
    assert fashion_mnist.load(data_dir=small_fashion, users=6, seed=0).num_users == 6
    assert asked == [f"{fashion_mnist.URL}{path.name}"]


def test_its_checksums_are_not_those_of_mnist(tmp_path: Path, serve: Callable[..., list[str]]) -> None:
    assert not set(fashion_mnist.MD5.values()) & set(mnist.MD5.values())
    assert not set(fashion_mnist.SHA256.values()) & set(mnist.SHA256.values())
    serve({f"{name}.gz": b"something else" for name in fashion_mnist.MD5})
    with pytest.raises(InvalidValue, match=r"Fashion-MNIST files; .* Downloading them failed: .*hash"):
        fashion_mnist.load(data_dir=tmp_path, seed=0)
