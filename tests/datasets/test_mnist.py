from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pytest
import torch

from fedward.base.validate import InvalidType, InvalidValue
from fedward.datasets import idx, mnist
from fedward.datasets.idx_images import read_writers
from support import flat_inputs

Write = Callable[..., Path]


def raw(data_dir: Path) -> Path:
    return data_dir / "MNIST" / "raw"


def test_images_are_scaled_to_one_and_keep_their_labels(small_mnist: Path) -> None:
    federation = mnist.load(data_dir=small_mnist, users=6, seed=0)
    assert federation.test is not None
    assert flat_inputs(federation.examples).shape == (60, 1, 28, 28)
    assert flat_inputs(federation.test).shape == (20, 1, 28, 28)
    assert flat_inputs(federation.examples).dtype == torch.float32
    images = idx.read(raw(small_mnist) / "train-images-idx3-ubyte.gz", 3)
    labels = idx.read(raw(small_mnist) / "train-labels-idx1-ubyte.gz", 1)
    pairs = {(image.tobytes(), int(label)) for image, label in zip(images, labels, strict=True)}
    bytes_again = (flat_inputs(federation.examples)[:, 0] * 255).round().to(torch.uint8).numpy()
    found = {(i.tobytes(), int(y)) for i, y in zip(bytes_again, federation.examples.y, strict=True)}
    assert found == pairs
    assert torch.equal(
        flat_inputs(federation.examples), flat_inputs(federation.examples).mul(255).round().div(255)
    )


def test_the_seed_decides_who_gets_what(small_mnist: Path) -> None:
    a, b, c = (mnist.load(data_dir=small_mnist, users=6, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(flat_inputs(a.examples), flat_inputs(b.examples))
    assert not torch.equal(flat_inputs(a.examples), flat_inputs(c.examples))


def test_classes_are_kept_and_renumbered_in_the_given_order(small_mnist: Path) -> None:
    federation = mnist.load(data_dir=small_mnist, users=3, classes=(7, 2, 4), seed=0)
    assert federation.test is not None
    assert federation.num_classes == 3
    assert torch.bincount(federation.examples.y).tolist() == [6, 6, 6]
    assert torch.bincount(federation.test.y).tolist() == [2, 2, 2]
    images = idx.read(raw(small_mnist) / "t10k-images-idx3-ubyte.gz", 3)
    for x, y in zip(flat_inputs(federation.test), federation.test.y, strict=True):
        source = [i for i in range(20) if np.allclose(images[i] / 255, x[0].numpy(), atol=1e-6)]
        assert [i % 10 for i in source] == [(7, 2, 4)[int(y)]]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ((3,), r"at least 2 different numbers, got \[3\]"),
        ((), r"at least 2 different numbers, got \[\]"),
        ((1, 1), r"at least 2 different numbers, got \[1, 1\]"),
        ((0, 10), "numbers from 0 to 9, got 10"),
        ((0, -1), "class must be at least 0, got -1"),
    ],
)
def test_wrong_classes_are_refused_before_any_file_is_read(
    tmp_path: Path, classes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        mnist.load(data_dir=tmp_path, classes=classes, seed=0)


@pytest.mark.parametrize("classes", ["01", 1, (0, 1.0), (0, True)])
def test_classes_of_a_wrong_type_are_refused(tmp_path: Path, classes: Any) -> None:
    with pytest.raises(InvalidType, match="class"):
        mnist.load(data_dir=tmp_path, classes=classes, seed=0)


def test_natural_users_are_the_writers(small_mnist: Path) -> None:
    federation = mnist.load(data_dir=small_mnist, split="natural", seed=0)
    assert federation.names.tolist() == [100, 101, 102, 103, 104, 105]
    assert federation.sizes.tolist() == [10] * 6
    images = idx.read(raw(small_mnist) / "train-images-idx3-ubyte.gz", 3)
    assert np.allclose(flat_inputs(federation.user(2))[:, 0].numpy(), images[20:30] / 255)
    chosen = mnist.load(data_dir=small_mnist, split="natural", users=4, classes=[0, 1], seed=0)
    assert chosen.num_users == 4
    assert set(chosen.names.tolist()) < set(range(100, 106))
    assert chosen.sizes.tolist() == [2] * 4
    with pytest.raises(InvalidValue, match="at most the 6 that the data names, got 7"):
        mnist.load(data_dir=small_mnist, split="natural", users=7, seed=0)


def test_a_writer_without_the_kept_digits_is_no_user(small_mnist: Path) -> None:
    np.save(raw(small_mnist) / "train-writers.npy", np.where(np.arange(60) % 10 == 9, 1, 2))
    federation = mnist.load(data_dir=small_mnist, split="natural", classes=(0, 1), seed=0)
    assert federation.names.tolist() == [2]


def test_writers_are_not_needed_for_other_splits(small_mnist: Path) -> None:
    (raw(small_mnist) / "train-writers.npy").unlink()
    assert mnist.load(data_dir=small_mnist, users=6, seed=0).num_users == 6
    with pytest.raises(FileNotFoundError, match=r"split natural needs the writer .*train-writers\.npy"):
        mnist.load(data_dir=small_mnist, split="natural", seed=0)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(59), r"one writer for each of 60 examples, got shape \(59,\)"),
        (np.zeros((60, 2), int), r"one writer for each of 60 examples, got shape \(60, 2\)"),
        (np.zeros(60), "whole numbers or strings, got an array of float64"),
        (np.array([None] * 60), "reading it failed: .*allow_pickle"),
    ],
)
def test_wrong_writers_are_refused(small_mnist: Path, array: Any, message: str) -> None:
    np.save(raw(small_mnist) / "train-writers.npy", array, allow_pickle=True)
    with pytest.raises(InvalidValue, match=rf"train-writers\.npy must .*{message}"):
        mnist.load(data_dir=small_mnist, split="natural", seed=0)


def test_writers_cut_off_anywhere_are_refused(small_mnist: Path) -> None:
    path = raw(small_mnist) / "train-writers.npy"
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(InvalidValue, match=r"train-writers\.npy must be an array"):
            read_writers(path, 60)


def test_writers_with_a_damaged_header_are_refused(small_mnist: Path) -> None:
    path = raw(small_mnist) / "train-writers.npy"
    data = path.read_bytes()
    start, end = data.index(b"{"), data.index(b"}")
    for place in range(start, end + 1):
        path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
        with pytest.raises(InvalidValue, match=r"train-writers\.npy must "):
            read_writers(path, 60)


def test_an_archive_of_writers_is_refused(small_mnist: Path) -> None:
    path = raw(small_mnist) / "train-writers.npy"
    with path.open("wb") as file:
        np.savez(file, writers=np.arange(60))
    with pytest.raises(InvalidValue, match="got an archive"):
        read_writers(path, 60)


def test_images_labels_and_their_numbers_are_checked(small_mnist: Path, write_idx: Write) -> None:
    labels = raw(small_mnist) / "train-labels-idx1-ubyte.gz"
    write_idx(labels, np.arange(59) % 10)
    with pytest.raises(InvalidValue, match=r"has 60 images but .*train-labels.* has 59 labels"):
        mnist.load(data_dir=small_mnist, users=6, seed=0)
    write_idx(labels, np.arange(60) % 11)
    with pytest.raises(InvalidValue, match=r"train-labels.* must hold labels from 0 to 9, got 10"):
        mnist.load(data_dir=small_mnist, users=6, seed=0)
    write_idx(raw(small_mnist) / "train-images-idx3-ubyte.gz", np.zeros((60, 8, 8)))
    with pytest.raises(
        InvalidValue, match=r"train-images.* must hold images of 28 x 28 pixels, got \(8, 8\)"
    ):
        mnist.load(data_dir=small_mnist, users=6, seed=0)


def test_a_truncated_file_is_refused_and_not_downloaded_again(small_mnist: Path) -> None:
    path = raw(small_mnist) / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InvalidValue, match=r"t10k-images-idx3-ubyte\.gz must be a whole gzip file"):
        mnist.load(data_dir=small_mnist, users=6, seed=0)


def test_unpacked_files_are_read_and_preferred(small_mnist: Path) -> None:
    packed = raw(small_mnist) / "train-labels-idx1-ubyte.gz"
    unpacked = packed.with_suffix("")
    unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    packed.write_bytes(b"never read")
    federation = mnist.load(data_dir=small_mnist, users=6, seed=0)
    assert torch.bincount(federation.examples.y).tolist() == [6] * 10


def test_the_variable_says_where_the_files_are(small_mnist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDWARD_DATA", str(small_mnist))
    assert mnist.load(users=6, seed=0).num_users == 6


def downloads(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> list[str]:
    """Lets pooch take these files from memory, with its own checks, and returns the list of addresses."""
    asked: list[str] = []

    def serve(self: Any, url: str, output_file: str, *args: Any, **kwargs: Any) -> None:
        asked.append(url)
        Path(output_file).write_bytes(files[url.rpartition("/")[2]])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", serve)
    return asked


def test_only_missing_files_are_downloaded_and_only_once(
    small_mnist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "train-labels-idx1-ubyte"
    path = raw(small_mnist) / f"{name}.gz"
    data = path.read_bytes()
    path.unlink()
    monkeypatch.setitem(mnist.MD5, name, hashlib.md5(data).hexdigest())
    monkeypatch.setitem(mnist.SHA256, name, hashlib.sha256(data).hexdigest())
    asked = downloads(monkeypatch, {f"{name}.gz": data})
    assert mnist.load(data_dir=small_mnist, users=6, seed=0).num_users == 6
    assert mnist.load(data_dir=small_mnist, users=6, seed=0).num_users == 6
    assert asked == [f"{mnist.URL}{name}.gz"]


def test_a_file_with_the_published_md5_alone_is_refused_and_removed(
    small_mnist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files with one MD5 can be made."""
    name = "train-labels-idx1-ubyte"
    path = raw(small_mnist) / f"{name}.gz"
    data = path.read_bytes()
    path.unlink()
    monkeypatch.setitem(mnist.MD5, name, hashlib.md5(data).hexdigest())
    downloads(monkeypatch, {f"{name}.gz": data})
    with pytest.raises(InvalidValue, match=f"the SHA-256 {mnist.SHA256[name]} of the official file"):
        mnist.load(data_dir=small_mnist, users=6, seed=0)
    assert not path.exists()


def test_a_download_with_a_wrong_checksum_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads(monkeypatch, {f"{name}.gz": b"something else" for name in mnist.MD5})
    with pytest.raises(FileNotFoundError, match=r"Downloading them failed: .*hash"):
        mnist.load(data_dir=tmp_path, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_without_files_and_network_one_error_says_what_to_put_where(
    small_mnist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fail)
    (raw(small_mnist) / "train-labels-idx1-ubyte.gz").unlink()
    (raw(small_mnist) / "t10k-images-idx3-ubyte.gz").unlink()
    with pytest.raises(InvalidValue) as caught:
        mnist.load(data_dir=small_mnist, users=6, seed=0)
    assert isinstance(caught.value, FileNotFoundError)
    assert str(caught.value) == (
        f"{raw(small_mnist)} must hold the MNIST files; put train-labels-idx1-ubyte.gz, "
        f"t10k-images-idx3-ubyte.gz (or the same unpacked) there, from {mnist.URL}. "
        f"Looked in {raw(small_mnist)}, {small_mnist / 'MNIST'}, {small_mnist / 'mnist'}, {small_mnist}. "
        "Downloading them failed: no route to host"
    )


def test_real_mnist_is_complete(real_mnist: Path) -> None:
    federation = mnist.load(data_dir=real_mnist, split="natural", seed=0)
    assert federation.test is not None
    x = federation.examples.x
    assert isinstance(x, torch.Tensor)
    assert (len(federation.examples), len(federation.test)) == (60_000, 10_000)
    train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert torch.bincount(federation.examples.y).tolist() == train
    assert torch.bincount(federation.test.y).tolist() == test
    assert (round(float(x.mean()), 4), round(float(x.std()), 4)) == (0.1307, 0.3081)
    assert federation.num_users == 539
    assert (int(federation.sizes.min()), int(federation.sizes.max())) == (19, 131)
    test_writers = np.unique(read_writers(raw(real_mnist) / "t10k-writers.npy", 10_000))
    assert len(test_writers) == 297
    assert not set(test_writers.tolist()) & set(federation.names.tolist())


def test_real_mnist_zeros_and_ones_go_to_200_users(real_mnist: Path) -> None:
    federation = mnist.load(data_dir=real_mnist, classes=(0, 1), seed=0)
    assert federation.test is not None
    assert (len(federation.examples), len(federation.test)) == (12_665, 2_115)
    assert federation.num_users == 200
    assert set(federation.sizes.tolist()) == {63, 64}
    assert torch.bincount(federation.examples.y).tolist() == [5923, 6742]


def test_real_mnist_splits_by_dirichlet_without_losing_an_example(real_mnist: Path) -> None:
    federation = mnist.load(data_dir=real_mnist, split="dirichlet", alpha=0.5, users=100, seed=0)
    assert federation.num_users == 100
    assert len(federation.examples) == 60_000
