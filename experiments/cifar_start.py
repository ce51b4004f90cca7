"""The models that experiments on CIFAR-10 start from: trained on CIFAR-100, by us or by Xie et al.

Neither had any privacy. Ours is trained here, on as much of CIFAR-100 as there is. Theirs is a file of the
authors' repository, which has no licence: it is never part of this project, and ``--start FILE`` takes the
path of a copy. Only the very weights that they published are taken: their numbers must have the digest below,
whatever file they come in.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

FILE = Path(__file__).parent / "xie_table_3" / "cifar100.toml"

# What a layer of theirs is called in our cifar_cnn.
LAYERS = {"net.0": "0", "net.3": "3", "net.6": "6", "net.9": "9", "fc": "13"}
SHA256 = "555092dc3a03cfa818a7558fb3b163eff84406de5d18ebacb3b197c1d5cd2a74"

Arrays = Mapping[str, NDArray[np.float32]]


def add_start_option(made: argparse.ArgumentParser) -> None:
    """The option that takes the authors' weights in the place of ours."""
    made.add_argument(
        "--start",
        type=Path,
        help="the authors' CIFAR-100 weights: cifar100_model_best.pt.tar of their repository, or its arrays "
        "as .npz; our own public training if not given",
    )


def start_weights(folder: Path, data: str | None, start: Path | None) -> Path:
    """The file that a model starts from: the authors' weights where they are given, else ours."""
    return pretrained(folder, data) if start is None else authors_weights(folder, start)


def pretrained(folder: Path, data: str | None) -> Path:
    """The weights of the public training, which is done first where the file is missing."""
    path = folder / "cifar100.pt"
    if not path.exists():
        words = [sys.executable, "-m", "fedward", "pretrain", str(FILE), "--out", str(path)]
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(words + (["--data", data] if data else []), check=True)
    return path


def authors_weights(folder: Path, start: Path) -> Path:
    """The authors' weights under our names, as a state_dict; ends the program if they are not theirs."""
    arrays = read_arrays(start)
    missing = [f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias")]
    if missing := [name for name in missing if name not in arrays]:
        raise SystemExit(f"{start} must hold the layers {', '.join(LAYERS)}; {missing[0]} is not in it")
    if (found := digest(arrays)) != SHA256:
        raise SystemExit(
            f"{start} must hold the weights that Xie et al. published, whose numbers have the SHA-256\n"
            f"{SHA256}, got\n{found}"
        )
    tensors = {
        f"{ours}.{kind}": torch.from_numpy(arrays[f"{theirs}.{kind}"].copy())
        for theirs, ours in LAYERS.items()
        for kind in ("weight", "bias")
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cifar100_authors.pt"
    torch.save(tensors, path)
    return path


def read_arrays(start: Path) -> Arrays:
    """The arrays of an .npz file, or the tensors of a checkpoint of PyTorch; nothing in it is run."""
    try:
        if start.suffix == ".npz":
            with np.load(start) as content:
                return {name: np.asarray(content[name], np.float32) for name in content.files}
        stored = torch.load(start, weights_only=True, map_location="cpu")
        tensors = stored.get("state_dict", stored)
        return {name.removeprefix("module."): value.float().numpy() for name, value in tensors.items()}
    except (OSError, ValueError, RuntimeError, AttributeError, pickle.UnpicklingError) as error:
        raise SystemExit(f"{start} cannot be read as weights: {error}") from error


def digest(arrays: Arrays) -> str:
    """The SHA-256 of all numbers, layer after layer: the same for every kind of file."""
    together = hashlib.sha256()
    for layer in LAYERS:
        for kind in ("weight", "bias"):
            together.update(np.ascontiguousarray(arrays[f"{layer}.{kind}"], "<f4").tobytes())
    return together.hexdigest()
