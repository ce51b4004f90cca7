"""Small files in the form of every data set, and the options that load them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fedward.datasets import cifar10, cifar100

RNG = np.random.default_rng(0)


def _nothing(folder: Path) -> dict[str, Any]:
    return {"users": 20}


def _idx(path: Path, array: np.ndarray[Any, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes())


def _digit_files(stem: str, parts: dict[str, int]) -> Callable[[Path], dict[str, Any]]:
    def write(folder: Path) -> dict[str, Any]:
        for part, size in parts.items():
            _idx(folder / f"{stem}{part}-images-idx3-ubyte", RNG.integers(0, 256, (size, 28, 28)))
            _idx(folder / f"{stem}{part}-labels-idx1-ubyte", np.arange(size) % 10)
        return {"data_dir": folder, "users": 6}

    return write


def _cifar(module: Any) -> Callable[[Path], dict[str, Any]]:
    def write(folder: Path) -> dict[str, Any]:
        (folder / module.SET.folder).mkdir()
        for name in (*module.SET.train, module.SET.test):
            rows = RNG.integers(0, 256, (20, len(module.SET.label_bytes) + 3 * 32 * 32))
            rows[:, : len(module.SET.label_bytes)] = (np.arange(20) % 10)[:, None]
            (folder / module.SET.folder / name).write_bytes(rows.astype(np.uint8).tobytes())
        return {"data_dir": folder, "users": 4}

    return write


def _pictures(folder: Path) -> dict[str, Any]:
    for i in range(10):
        for name, shade in (("cat", 200 + i), ("dog", 100 + i)):
            path = folder / "pets" / f"user{i}" / name / "1.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((4, 6, 3), shade, dtype=np.uint8)).save(path)
    return {"data_dir": folder, "folder": "pets"}


def _faces(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = {"races": np.array(["a", "b"]), "attr_names": np.array(["Bald"])}
    for part, size in (("train", 30), ("test", 9)):
        content |= {
            f"x_{part}": RNG.integers(0, 256, (size, 48, 48, 3)).astype(np.uint8),
            f"y_{part}": (np.arange(size) % 2).astype(np.int8),
            f"users_{part}": (np.arange(size) // 3).astype(np.int16),
            f"race_id_{part}": (np.arange(size) % 2).astype(np.int8),
            f"attr_{part}": RNG.integers(0, 256, (size, 1)).astype(np.uint8),
        }
    (folder / "lfw").mkdir()
    np.savez(folder / "lfw" / "lfw48.npz", **content)
    return {"data_dir": folder}


def _vectors(folder: Path) -> None:
    (folder / "glove").mkdir()
    (folder / "glove" / "v.txt").write_text("the 1 2\ncat 3 4\nsat 5 6\n")


def _texts(folder: Path) -> dict[str, Any]:
    _vectors(folder)
    said = [{"user": f"u{i}", "text": ["the cat sat", "the cat the cat sat the"]} for i in range(10)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    return {"data_dir": folder, "file": "texts.jsonl"}


def _tweets(folder: Path) -> dict[str, Any]:
    _vectors(folder)
    (folder / "sent140").mkdir()
    lines = [
        f'"{4 * ((user + day) % 2)}","{user}","Mon Apr {day + 1:02} 22:19:45 PDT 2009","NO_QUERY",'
        f'"u{user}","the cat sat"\n'
        for day in range(4)
        for user in range(10)
    ]
    (folder / "sent140" / "users.csv").write_text("".join(lines))
    return {"data_dir": folder, "file": "users.csv"}


def _table(folder: Path) -> dict[str, Any]:
    rows = "".join(f"u{i % 10},{i % 3},{i / 4},{-i}\n" for i in range(40))
    (folder / "some.csv").write_text("user,label,age,height\n" + rows)
    return {"data_dir": folder, "file": "some.csv"}


SMALL_FILES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "cifar10": _cifar(cifar10),
    "cifar100": _cifar(cifar100),
    "digits": _nothing,
    "emnist": _digit_files("EMNIST/raw/emnist-digits-", {"train": 40, "test": 20}),
    "fashion_mnist": _digit_files("FashionMNIST/raw/", {"train": 60, "t10k": 20}),
    "image_folder": _pictures,
    "lfw": _faces,
    "mnist": _digit_files("MNIST/raw/", {"train": 60, "t10k": 20}),
    "next_word": _texts,
    "sentiment140": _tweets,
    "synthetic": _nothing,
    "table": _table,
}
"""For each data set: writes its files into a folder, and returns what ``load`` takes besides a seed."""
