"""Many replicas on disk: blocks that are finished, and the one that is under way.

run.json                what is run: the variants, digests of the data, versions
ledgers.json            what one training of each variant spends
labels.npz              the true classes of the test examples
block.pt                the states of the block under way, after its last finished round
scores-START-STOP.npz   what finished replicas START to STOP - 1 say about every test example, and their draw
sums.npz                the same as running sums, when space is to be saved
result.json             the summary of all finished replicas
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedward.base.arrays_file import Arrays, check_arrays, read_array, read_arrays, write_arrays
from fedward.base.durable_files import remove, remove_leftovers, write_atomically
from fedward.base.randomness import check_draw
from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.core.types import ServerState
from fedward.rundir import checkpoint
from fedward.rundir.manifest import Manifest
from fedward.rundir.replica_sums import add_block
from fedward.rundir.store import RunDirectory

_FORMAT = "fedward block 2"
_NAME = re.compile(r"scores-(\d+)-(\d+)\.npz")
_SUMS = "sums.npz"
_AGAIN = "remove it, and its replicas are trained again from their first round"
# All else is one number for each replica, or one for all of them.
_FOR_EVERY_EXAMPLE = ("scores", "sum", "squares", "votes")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Replicas ``start`` to ``stop`` - 1 of all variants, with what they have cost so far.

    ``states`` has all variants of the first replica, in the order of ``variants``, then those of the next.
    """

    start: int
    stop: int
    variants: tuple[str, ...]
    states: tuple[ServerState, ...]
    asked: int = 0
    run: int = 0

    @property
    def draw(self) -> str:
        """The draw that its replicas belong to; empty for none."""
        return self.states[0].draw if self.states else ""


class ReplicaDirectory:
    """The files of a run of many replicas; ``open_run`` holds its lock."""

    def __init__(self, run: RunDirectory, *, save_space: bool) -> None:
        self.path = run.path
        self._run = run
        self._save_space = save_space

    def begin(self, manifest: Manifest, labels: NDArray[np.int64]) -> None:
        """Writes what is run, or checks that the directory holds the same run."""
        self._run.begin(manifest)
        remove_leftovers(self.path)
        self._check_finished(list(manifest.variants or ()))
        file = self.path / "labels.npz"
        if not file.exists() or not _holds(file, labels):
            write_arrays(file, {"labels": labels})

    def _check_finished(self, variants: Sequence[str]) -> None:
        """Notices damage before anything is trained, not when all is done and the summary is made."""
        blocks = finished_blocks(self.path)
        for start, stop, name in blocks:
            again = "remove it and those after it, and their replicas are trained again"
            _check(self.path / name, variants, stop - start, again)
        if not blocks and (self.path / _SUMS).exists():
            again = "put back a copy of it, or start again in another directory with --out"
            _check(self.path / _SUMS, variants, None, again)

    def load_block(self, variants: Sequence[str]) -> Block | None:
        """The block under way, in the order of these variants; one that was finished is dropped."""
        file = self.path / "block.pt"
        if not file.exists():
            return None
        saved = unseal(_FORMAT, file.read_bytes(), str(file), _AGAIN)
        if saved["start"] != count_finished(self.path):
            file.unlink()  # killed after its scores were stored and before it was removed
            return None
        names, start, stop = list(saved["variants"]), saved["start"], saved["stop"]
        states = [checkpoint.from_content(state, str(file)) for state in saved["states"]]
        numbers = [number for number in range(start, stop) for _ in names]
        if sorted(names) != sorted(variants) or [state.replica for state in states] != numbers:
            raise InvalidValue(
                f"{file} must hold replicas {start} to {stop - 1} of {'; '.join(variants)}, "
                f"got {len(states)} states of {'; '.join(names)}: {_AGAIN}"
            )
        order = [names.index(name) for name in variants]
        states = [states[first + place] for first in range(0, len(states), len(names)) for place in order]
        return Block(**saved | {"variants": tuple(variants), "states": tuple(states)})

    def save_block(self, block: Block) -> None:
        """Stores the block after a round: what a kill from now on does not lose."""
        states = [checkpoint.to_content(state) for state in block.states]
        content = vars(block) | {"variants": list(block.variants), "states": states}
        write_atomically(self.path / "block.pt", seal(_FORMAT, content))

    def finish_block(self, block: Block, arrays: Arrays) -> None:
        """Stores what the block's replicas say, and only then forgets their states."""
        arrays = arrays | {"asked": np.array(block.asked), "run": np.array(block.run)}
        draw: Arrays = {"draw": np.array(block.draw)} if block.draw else {}
        if self._save_space:
            sums = self.path / _SUMS
            before = read_arrays(sums) if sums.exists() else None
            write_arrays(sums, add_block(before, arrays, block.stop) | draw)
        else:
            write_arrays(self.path / f"scores-{block.start:06d}-{block.stop:06d}.npz", arrays | draw)
        remove(self.path / "block.pt")


def stored_files(path: Path) -> list[Path]:
    """The files that hold what finished replicas say: one for each block, or one of running sums."""
    blocks = [path / name for _, _, name in finished_blocks(path)]
    return blocks or [file for file in (path / _SUMS,) if file.exists()]


def for_every_replica(path: Path) -> list[Arrays]:
    """What is stored as one number for each replica, in their order; one set when space is saved.

    What replicas say about every example is not read: it can be more than there is memory.
    """
    return [
        read_arrays(file, lambda key: key.rpartition("/")[2] not in _FOR_EVERY_EXAMPLE)
        for file in stored_files(path)
    ]


def count_finished(path: Path) -> int:
    """How many replicas, from 0 on, are finished."""
    if blocks := finished_blocks(path):
        return blocks[-1][1]
    return int(read_array(path / _SUMS, "replicas")) if (path / _SUMS).exists() else 0


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


def stored_draw(path: Path) -> str | None:
    """The draw of the finished replicas, empty where they belong to none; None where none is finished."""
    found = {_draw(file) for file in stored_files(path)}
    if len(found) > 1:
        raise InvalidValue(f"{path} must hold replicas of one draw, got those of {len(found)}")
    return found.pop() if found else None


def require_draw(path: Path, wanted: str, block: Block | None) -> None:
    """Refuses to go on with replicas of another draw than is wanted: they share nothing with it.

    Args:
      path: the run directory.
      wanted: the draw of the replicas to train.
      block: the one under way, if there is one.
    """
    there = {block.draw} if block is not None else set()
    if (finished := stored_draw(path)) is not None:
        there.add(finished)
    if there <= {wanted}:
        return
    kind = "were drawn for a certificate (fedward certify)" if there - {""} else "belong to no certificate"
    raise InvalidValue(
        f"{path} must hold replicas of {f'draw {wanted}' if wanted else 'no draw'}, got some that {kind}; "
        "choose another directory with --out"
    )


def _draw(file: Path) -> str:
    found = read_arrays(file, lambda name: name == "draw")
    return check_draw(found["draw"].tolist()) if found else ""


def _check(file: Path, variants: Sequence[str], replicas: int | None, remedy: str) -> None:
    """Checks the scores, or running sums, of so many replicas; sums say themselves how many they are of."""
    with add_to_errors(after=f"; {remedy}"):
        check_arrays(file)
        count = int(read_array(file, "replicas")) if replicas is None else replicas
        found = {name: len(read_array(file, f"{name}/accuracy")) for name in variants}
        if set(found.values()) != {count}:
            raise InvalidValue(f"{file} must hold {count} replicas of each variant, got {found}")


def _holds(file: Path, labels: NDArray[np.int64]) -> bool:
    """The labels come from the data, whose digest was compared: a damaged file of them is written again."""
    try:
        return np.array_equal(read_array(file, "labels"), labels)
    except InvalidValue:
        return False
