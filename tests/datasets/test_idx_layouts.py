from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.datasets import emnist, fashion_mnist, idx_images, idx_layouts, mnist
from fedward.datasets.directory import MissingFile
from support import flat_inputs

Write = Callable[..., Path]

SETS: dict[str, tuple[Callable[..., Federation], tuple[str, str]]] = {
    "MNIST": (mnist.load, ("train-", "t10k-")),
    "Fashion-MNIST": (fashion_mnist.load, ("train-", "t10k-")),
    "EMNIST": (emnist.load, ("emnist-digits-train-", "emnist-digits-test-")),
}
FOLDERS = {
    "MNIST": ["MNIST/raw", "MNIST", "mnist", "."],
    "Fashion-MNIST": [
        "FashionMNIST/raw",
        "FashionMNIST",
        "Fashion-MNIST",
        "fashion-mnist",
        "fashion_mnist",
        ".",
    ],
    "EMNIST": ["EMNIST/raw", "EMNIST", "emnist", "."],
}
NAMES = ["{kind}-{form}", "{kind}.{form}", "{kind}-{form}.gz", "{kind}.{form}.gz"]
RNG = np.random.default_rng(0)
IMAGES = {size: RNG.integers(0, 256, (size, 28, 28)) for size in (20, 10)}


def write_set(write_idx: Write, folder: Path, title: str, name: str = NAMES[2]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, size in zip(SETS[title][1], (20, 10), strict=True):
        write_idx(folder / (part + name.format(kind="images", form="idx3-ubyte")), IMAGES[size])
        write_idx(folder / (part + name.format(kind="labels", form="idx1-ubyte")), np.arange(size) % 10)


def images_of(title: str, data_dir: Path | None) -> Any:
    federation = SETS[title][0](data_dir=data_dir, users=2, seed=0)
    assert federation.test is not None
    return flat_inputs(federation.test).mul(255).round().to(torch.uint8).numpy()[:, 0]


@pytest.mark.usefixtures("no_internet")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("title", "folder"), [(title, f) for title in FOLDERS for f in FOLDERS[title]])
def test_files_are_found_in_every_layout(
    tmp_path: Path, write_idx: Write, title: str, folder: str, name: str
) -> None:
    write_set(write_idx, tmp_path / folder, title, name)
    upright = IMAGES[10].transpose(0, 2, 1) if title == "EMNIST" else IMAGES[10]
    assert np.array_equal(images_of(title, tmp_path), upright)


@pytest.mark.usefixtures("no_internet")
def test_a_package_of_debian_is_found_where_nobody_named_a_directory(
    tmp_path: Path, write_idx: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idx_layouts, "SYSTEM", tmp_path / "datasets")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FEDWARD_DATA", raising=False)
    write_set(write_idx, tmp_path / "datasets" / "fashion-mnist", "Fashion-MNIST")
    assert len(images_of("Fashion-MNIST", None)) == 10
    assert len(images_of("Fashion-MNIST", tmp_path / "datasets")) == 10
    (tmp_path / "mine").mkdir()
    with pytest.raises(MissingFile) as caught:  # who names a directory means that one
        images_of("Fashion-MNIST", tmp_path / "mine")
    assert str(tmp_path / "datasets") not in str(caught.value)
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("no_internet")
@pytest.mark.parametrize("title", FOLDERS)
def test_an_error_names_all_places_that_were_searched(tmp_path: Path, title: str) -> None:
    with pytest.raises(MissingFile) as caught:
        images_of(title, tmp_path)
    places = ", ".join(str(tmp_path / folder) for folder in FOLDERS[title])
    assert f" Looked in {places}. " in str(caught.value)


@pytest.mark.usefixtures("no_internet")
def test_files_are_not_put_together_from_two_places(tmp_path: Path, write_idx: Write) -> None:
    """Half of one set and half of another would be trained on as if they were one."""
    write_set(write_idx, tmp_path, "MNIST")
    write_set(write_idx, tmp_path / "mnist", "MNIST")
    (tmp_path / "t10k-images-idx3-ubyte.gz").unlink()
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(MissingFile, match=r"MNIST/raw must hold the MNIST files; put train-images-idx3"):
        images_of("MNIST", tmp_path)


def test_the_torchvision_folder_comes_first_and_unpacked_files_before_packed_ones(
    tmp_path: Path, write_idx: Write
) -> None:
    write_set(write_idx, tmp_path / "MNIST" / "raw", "MNIST")
    write_set(write_idx, tmp_path, "MNIST", NAMES[0])
    for path in tmp_path.glob("*ubyte"):
        path.write_bytes(b"never read")
    assert len(images_of("MNIST", tmp_path)) == 10
    for path in list((tmp_path / "MNIST" / "raw").iterdir()):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.write_bytes(b"never read")
    assert len(images_of("MNIST", tmp_path)) == 10


@pytest.mark.usefixtures("no_internet")
def test_a_directory_with_the_name_of_another_set_is_not_taken_for_this_one(
    tmp_path: Path, write_idx: Write
) -> None:
    write_set(write_idx, tmp_path / "fashion-mnist", "Fashion-MNIST")
    assert len(images_of("Fashion-MNIST", tmp_path / "fashion-mnist")) == 10
    with pytest.raises(MissingFile, match="must hold the MNIST files"):
        images_of("MNIST", tmp_path / "fashion-mnist")


def test_files_of_another_set_are_recognised_by_their_labels(
    tmp_path: Path, write_idx: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MNIST and Fashion-MNIST have files of the same names: the one was trained on for the other."""
    write_set(write_idx, tmp_path, "MNIST")
    labels = (np.arange(10) % 10).astype(np.uint8)
    monkeypatch.setitem(idx_images.TEST_LABELS, hashlib.md5(labels.tobytes()).hexdigest(), "Fashion-MNIST")
    with pytest.raises(InvalidValue, match=r"must hold the MNIST files, got those of Fashion-MNIST"):
        images_of("MNIST", tmp_path)
    assert len(images_of("Fashion-MNIST", tmp_path)) == 10


def test_writers_lie_beside_the_files(tmp_path: Path, write_idx: Write) -> None:
    write_set(write_idx, tmp_path / "mnist", "MNIST")
    np.save(tmp_path / "mnist" / "train-writers.npy", np.arange(20) // 10)
    assert mnist.load(data_dir=tmp_path, split="natural", seed=0).num_users == 2
