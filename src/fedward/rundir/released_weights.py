"""Weights that leave the program: those of a run or of ``fedward pretrain``, as a file of safetensors."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from fedward.base.limited_files import read_archive
from fedward.base.validate import InvalidValue
from fedward.models import safetensors_file, weights_file
from fedward.rundir.run_record import RunRecord
from fedward.version import __version__

NO_PRIVACY = "no guarantee: trained without privacy"


def weights_of_run(run: RunRecord) -> bytes:
    """The final model of a run, with what is promised about it."""
    if not run.finished:
        raise InvalidValue(f"{run.path} has no model yet: the run is not finished; the same command goes on")
    content = read_archive(run.path / "model.pt")
    tensors: dict[str, Tensor] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    guarantee = run.guarantee()
    data = {"name": run.experiment["data"]["name"], "digest": run.manifest.data.digest}
    promise = NO_PRIVACY if guarantee is None else str(guarantee)
    return _file(tensors, run.experiment["model"]["name"], data, promise)


def weights_of_pretraining(file: Path) -> bytes:
    """The weights in a file of ``fedward pretrain``."""
    content = read_archive(file)
    if not weights_file.is_weights_file(content):
        raise InvalidValue(f"weights must be those of a run or a file of `fedward pretrain`, got {file}")
    about, tensors = weights_file.from_bytes(content, f"weights {file}")
    if not about.finished:
        raise InvalidValue(f"weights {file} are not finished: the same `fedward pretrain` goes on with them")
    data: dict[str, str] = {key: about.data[key] for key in ("name", "digest") if key in about.data}
    return _file(tensors, about.model["name"], data, NO_PRIVACY)


def _file(tensors: Mapping[str, Tensor], model: str, data: Mapping[str, str], promise: str) -> bytes:
    """Names and digests, but no path of this machine and no seed: the file is for others."""
    about = {
        "format": "pt",
        "fedward": __version__,
        "fedward.model": model,
        safetensors_file.DATA: json.dumps(data),
        "fedward.guarantee": promise,
    }
    return safetensors_file.to_bytes(tensors, about)
