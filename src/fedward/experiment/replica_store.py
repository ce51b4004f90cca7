"""Many replicas on disk: blocks that are finished, and the one that is under way.

run.json                what is run: the variants, digests of the data, versions
labels.npz              the true classes of the test examples
block.pt                the states of the block under way, after its last finished round
scores-START-STOP.npz   what finished replicas START to STOP - 1 say about every test example
sums.npz                the same as running sums, when space is to be saved
result.json             the summary of all finished replicas
"""

from __future__ import annotations

import io
import json
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.core.types import ServerState
from fedward.core.validate import InvalidValue
from fedward.experiment import checkpoint, lines
from fedward.experiment.files import remove_leftovers, write_atomically
from fedward.experiment.store import RunDirectory

_FORMAT = "fedward block 1"
_NAME = re.compile(r"scores-(\d+)-(\d+)\.npz")

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Block:
    """Replicas ``start`` to ``stop`` - 1 of all variants, with what they have cost so far."""

    start: int
    stop: int
    states: tuple[ServerState, ...]
    asked: int = 0
    run: int = 0


class ReplicaDirectory:
    """The files of a run of many replicas; ``open_run`` holds its lock."""

    def __init__(self, run: RunDirectory, *, save_space: bool) -> None:
        self.path = run.path
        self._run = run
        self._save_space = save_space

    def begin(self, manifest: dict[str, Any], labels: NDArray[np.int64]) -> None:
        """Writes what is run, or checks that the directory holds the same run."""
        self._run.begin(manifest)
        remove_leftovers(self.path)
        if not (self.path / "labels.npz").exists():
            _write(self.path / "labels.npz", {"labels": labels})

    def finished(self) -> int:
        """How many replicas, from 0 on, are finished."""
        if self._save_space:
            file = self.path / "sums.npz"
            return int(read_arrays(file)["replicas"]) if file.exists() else 0
        return finished_blocks(self.path)[-1][1] if finished_blocks(self.path) else 0

    def load_block(self) -> Block | None:
        """The block under way, unless it has been finished."""
        file = self.path / "block.pt"
        if not file.exists():
            return None
        try:
            saved = torch.load(io.BytesIO(file.read_bytes()), weights_only=True, map_location="cpu")
        except (RuntimeError, EOFError, pickle.UnpicklingError, ValueError, KeyError) as error:
            raise InvalidValue(f"{file} is damaged and cannot be read: {error}") from error
        if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
            raise InvalidValue(f"{file} must be a file of the format {_FORMAT!r}")
        block = Block(
            start=saved["start"],
            stop=saved["stop"],
            states=tuple(checkpoint.from_content(state, str(file)) for state in saved["states"]),
            asked=saved["asked"],
            run=saved["run"],
        )
        return block if block.start == self.finished() else None

    def save_block(self, block: Block) -> None:
        """Stores the block after a round: what a kill from now on does not lose."""
        content = {
            "format": _FORMAT,
            "start": block.start,
            "stop": block.stop,
            "states": [checkpoint.to_content(state) for state in block.states],
            "asked": block.asked,
            "run": block.run,
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        write_atomically(self.path / "block.pt", buffer.getvalue())

    def finish_block(self, block: Block, arrays: Arrays) -> None:
        """Stores what the block's replicas say, and only then forgets their states."""
        arrays = arrays | {"asked": np.array(block.asked), "run": np.array(block.run)}
        if self._save_space:
            sums = self.path / "sums.npz"
            before = read_arrays(sums) if sums.exists() else None
            _write(sums, _added(before, arrays, block.stop))
        else:
            _write(self.path / f"scores-{block.start:06d}-{block.stop:06d}.npz", arrays)
        (self.path / "block.pt").unlink(missing_ok=True)

    def finish(self, result: dict[str, Any]) -> None:
        """Writes the summary, and drops a block that was finished just before a kill."""
        text = json.dumps(lines.plain(result), indent=2, allow_nan=False) + "\n"
        write_atomically(self.path / "result.json", text.encode())
        if self.load_block() is None:
            (self.path / "block.pt").unlink(missing_ok=True)

    def arrays(self) -> list[Arrays]:
        """All that is stored, in the order of the replicas; one set of arrays when space is saved."""
        if self._save_space:
            file = self.path / "sums.npz"
            return [read_arrays(file)] if file.exists() else []
        return [read_arrays(self.path / name) for _, _, name in finished_blocks(self.path)]


def finished_blocks(path: Path) -> list[tuple[int, int, str]]:
    """First replica, replica after the last, and file of each finished block; they must follow each other."""
    found = sorted(
        (int(match[1]), int(match[2]), file.name)
        for file in path.glob("scores-*.npz")
        if (match := _NAME.fullmatch(file.name))
    )
    following = 0
    for start, stop, name in found:
        if start != following or stop <= start:
            raise InvalidValue(f"{path} must hold the scores of replica {following} next, got {name}")
        following = stop
    return found


def _added(before: Arrays | None, arrays: Arrays, replicas: int) -> Arrays:
    """Running sums with another block: scores are summed, what is one number a replica is appended."""
    sums: Arrays = {"replicas": np.array(replicas)}
    for name, array in arrays.items():
        if name.endswith("/scores"):
            scores = array.astype(np.float64)
            votes = array.argmax(axis=2)[:, :, None] == np.arange(array.shape[2])
            stem = name.removesuffix("/scores")
            # One replica after the other: the same sums whatever the blocks were.
            for part, values in (("sum", scores), ("squares", scores**2), ("votes", votes.astype(np.int64))):
                total = before[f"{stem}/{part}"].copy() if before else np.zeros_like(values[0])
                for value in values:
                    total += value
                sums[f"{stem}/{part}"] = total
        elif array.ndim:
            sums[name] = np.concatenate([before[name], array]) if before else array
        else:
            sums[name] = before[name] + array if before else array
    return sums


def _write(path: Path, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_atomically(path, buffer.getvalue())


def read_arrays(path: Path) -> Arrays:
    """The arrays of one file; nothing in it is run."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:
        # Damage shows as anything: zlib.error, BadZipFile, EOFError, ...
        raise InvalidValue(f"{path} is damaged and cannot be read: {error}") from error
