from __future__ import annotations

import hashlib
import importlib.util
import io
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedward.base.validate import InvalidType, InvalidValue
from fedward.datasets import cifar10, cifar100
from fedward.datasets.cifar import Cifar
from fedward.datasets.first_seen import NAME

SETS: dict[str, Any] = {"cifar10": cifar10, "cifar100": cifar100}
SHARED_DATA = Path(__file__).parents[2].parent / "shared" / "data"


def records(labels: list[int], images: NDArray[np.uint8], label_bytes: int) -> bytes:
    """Written byte by byte: other labels first, then red, green and blue."""
    out = bytearray()
    for label, image in zip(labels, images, strict=True):
        out += bytes([0] * (label_bytes - 1) + [label])
        for channel in range(3):
            out += image[:, :, channel].tobytes()
    return bytes(out)


def images(number: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (number, 32, 32, 3), dtype=np.uint8)


def write(folder: Path, module: Any, number: int = 20) -> dict[str, tuple[list[int], NDArray[np.uint8]]]:
    """A small set in the official form; what is in each file."""
    source: Cifar = module.SET
    (folder / source.folder).mkdir()
    content = {}
    for place, name in enumerate((*source.train, source.test)):
        labels = [(place + i) % source.label_bytes[-1] for i in range(number)]
        content[name] = labels, images(number, place)
        data = records(*content[name], len(source.label_bytes))
        (folder / source.folder / name).write_bytes(data)
    return content


@pytest.fixture(params=SETS)
def module(request: pytest.FixtureRequest) -> Any:
    return SETS[request.param]


def test_pixels_and_labels_are_where_the_format_has_them(module: Any, tmp_path: Path) -> None:
    content = write(tmp_path, module)
    federation = module.load(data_dir=tmp_path, users=1, seed=0)
    assert federation.test is not None
    train = [content[name] for name in module.SET.train]
    x = np.concatenate([pixels for _, pixels in train]).transpose(0, 3, 1, 2) / 255
    assert torch.allclose(federation.examples.x, torch.from_numpy(x).float(), atol=1e-7)
    assert federation.examples.y.tolist() == [label for labels, _ in train for label in labels]
    labels, pixels = content[module.SET.test]
    assert torch.allclose(
        federation.test.x, torch.from_numpy(pixels.transpose(0, 3, 1, 2) / 255).float(), atol=1e-7
    )
    assert federation.test.y.tolist() == labels
    assert federation.num_classes == module.SET.label_bytes[-1]
    assert federation.examples.x.dtype == torch.float32


def test_classes_are_kept_and_renumbered(module: Any, tmp_path: Path) -> None:
    content = write(tmp_path, module)
    federation = module.load(data_dir=tmp_path, users=1, classes=(7, 2), seed=0)
    labels = [label for name in module.SET.train for label in content[name][0]]
    assert federation.examples.y.tolist() == [(7, 2).index(label) for label in labels if label in (7, 2)]
    assert federation.num_classes == 2
    with pytest.raises(InvalidValue, match="classes must be numbers from 0 to"):
        module.load(data_dir=tmp_path, classes=(0, 100), seed=0)


def test_standardised_channels_have_the_published_mean_and_deviation_taken_out(
    module: Any, tmp_path: Path
) -> None:
    write(tmp_path, module)
    plain = module.load(data_dir=tmp_path, users=3, seed=0)
    standard = module.load(data_dir=tmp_path, users=3, seed=0, standardise=True)
    for channel in range(3):
        expected = (plain.examples.x[:, channel] - module.SET.mean[channel]) / module.SET.deviation[channel]
        assert torch.allclose(standard.examples.x[:, channel], expected, atol=1e-5)
    assert not torch.equal(standard.test.x, plain.test.x)
    with pytest.raises(InvalidType, match="standardise must be true or false, got 1"):
        module.load(data_dir=tmp_path, standardise=1, seed=0)


def test_users_are_made_by_splits(module: Any, tmp_path: Path) -> None:
    write(tmp_path, module)
    total = 20 * len(module.SET.train)
    assert sum(module.load(data_dir=tmp_path, users=7, seed=0).sizes.tolist()) == total
    skewed = module.load(data_dir=tmp_path, users=3, split="dirichlet", alpha=1.0, seed=0)
    assert (skewed.num_users, len(skewed.examples)) == (3, total)
    with pytest.raises(InvalidValue, match="this data does not"):
        module.load(data_dir=tmp_path, split="natural", seed=0)


@given(data=st.data(), name=st.sampled_from(sorted(SETS)))
def test_a_file_that_is_not_whole_records_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    source: Cifar = SETS[name].SET
    length = len(source.label_bytes) + 3072
    size = data.draw(st.integers(0, 3 * length))
    path = tmp_path_factory.getbasetemp() / "cut.bin"
    path.write_bytes(bytes(size))
    everything = list(range(source.label_bytes[-1]))
    if size and size % length == 0:
        assert len(source.read(path, everything)[1]) == size // length
    else:
        with pytest.raises(
            InvalidValue, match=rf"cut\.bin must hold whole records of {length} .* got {size} "
        ):
            source.read(path, everything)


def test_labels_that_do_not_exist_are_refused_by_their_record(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(records([3, 9, 10, 11], images(4, 0), 1))
    with pytest.raises(InvalidValue, match=r"x\.bin must hold labels from 0 to 9, but record 2 has 10"):
        cifar10.SET.read(path, [0, 1])
    data = bytearray(records([3, 99, 100], images(3, 0), 2))
    path.write_bytes(data)
    with pytest.raises(InvalidValue, match=r"labels from 0 to 99, but record 2 has 100"):
        cifar100.SET.read(path, [0, 1])
    data[3074] = 20
    path.write_bytes(data)
    with pytest.raises(InvalidValue, match=r"labels from 0 to 19, but record 1 has 20"):
        cifar100.SET.read(path, [0, 1])


def test_the_python_version_is_never_opened(tmp_path: Path, serve: Callable[..., list[str]]) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "data_batch_1").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    serve({"cifar-10-binary.tar.gz": b""})
    with pytest.raises(InvalidValue, match=r"cifar-10-batches-bin must hold the CIFAR-10 files"):
        cifar10.load(data_dir=tmp_path, seed=0)


def test_missing_files_come_out_of_the_official_archive(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., list[str]]
) -> None:
    write(tmp_path, module)
    folder = tmp_path / module.SET.folder
    before = module.load(data_dir=tmp_path, users=2, seed=0)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        file.add(folder, module.SET.folder)
    kept = folder / module.SET.test
    for path in folder.iterdir():
        if path != kept:
            path.unlink()
    archive = module.SET.url.rpartition("/")[2]
    asked = serve({archive: buffer.getvalue()})
    sums = {name: hashlib.new(name, buffer.getvalue()).hexdigest() for name in ("md5", "sha256")}
    monkeypatch.setattr(module, "SET", replace(module.SET, **sums))
    after = module.load(data_dir=tmp_path, users=2, seed=0)
    assert torch.equal(before.examples.x, after.examples.x)
    assert asked == [module.SET.url]
    assert {path.name for path in folder.iterdir()} == {*module.SET.train, module.SET.test, NAME}
    changed = folder / module.SET.train[0]
    content = bytearray(changed.read_bytes())
    content[-1] ^= 1
    changed.write_bytes(content)
    with pytest.raises(InvalidValue, match=r"must have the SHA-256 [0-9a-f]{64} that it was downloaded with"):
        module.load(data_dir=tmp_path, users=2, seed=0)


@pytest.mark.usefixtures("no_internet")
def test_without_files_and_network_one_error_says_what_to_put_where(module: Any, tmp_path: Path) -> None:
    write(tmp_path, module)
    missing = tmp_path / module.SET.folder / module.SET.test
    missing.unlink()
    missing.mkdir()  # a directory of that name is no file
    with pytest.raises(InvalidValue) as caught:
        module.load(data_dir=tmp_path, seed=0)
    assert isinstance(caught.value, FileNotFoundError)
    assert str(caught.value) == (
        f"{missing.parent} must hold the {module.SET.title} files; put {missing.name} there, "
        f"from {module.SET.url}. Downloading them failed: no route to host"
    )


def test_real_cifar10_test_images_have_their_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SHARED_DATA / "cifar10_test.npz").is_file():
        pytest.skip("the shared data with the real CIFAR-10 is not beside this repository")
    spec = importlib.util.spec_from_file_location("shared_load", SHARED_DATA / "load.py")
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # nothing is left beside the data
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    with np.load(SHARED_DATA / "cifar10_test.npz") as packed:
        labels, pixels = packed["y_test"], shared.decode(packed["r_test"][:3000])
    path = tmp_path / "test_batch.bin"
    path.write_bytes(records(labels[:3000].tolist(), pixels, 1))
    x, y = cifar10.SET.read(path, list(range(10)))
    assert y[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    assert np.bincount(labels).tolist() == [1000] * 10
    # About those of the training images: the channels are not mixed up, nor are pixels and labels.
    means, published = x.mean((0, 2, 3)) / 255, np.array([0.4914, 0.4822, 0.4465])
    assert np.abs(means - published).max() < 0.02
    airplanes, frogs = (x[y == label].mean((0, 2, 3)) for label in (0, 6))
    assert airplanes[2] > airplanes[0]  # the sky is blue
    assert frogs[2] < frogs[0]


def test_real_cifar100_is_read_whole(real_data: Callable[[str], Path]) -> None:
    federation = cifar100.load(data_dir=real_data("cifar100"), users=100, seed=0)
    assert federation.test is not None
    assert isinstance(federation.examples.x, torch.Tensor)
    assert (len(federation.examples), len(federation.test)) == (6000, 1500)
    assert torch.bincount(federation.examples.y).tolist() == [60] * 100
    assert torch.bincount(federation.test.y).tolist() == [15] * 100
    means = federation.examples.x.mean((0, 2, 3))
    assert torch.allclose(means, torch.tensor(cifar100.SET.mean), atol=0.01)
