"""Many replicas on disk: blocks that are finished, and the one that is under way.

run.json                what is run: the variants, digests of the data, versions
ledgers.json            what one training of each variant spends
labels.npz              the true classes of the test examples
block.pt                the states of the block under way, after its last finished round
scores-START-STOP.npz   what finished replicas START to STOP - 1 say about every test example, and their draw
sums.npz                the same as running sums, when space is to be saved
ahead-START-STOP.npz    finished replicas whose turn has not come: see ``blocks_ahead``
part.json               which replicas are to be trained here, where others train the rest
result.json             the summary of all finished replicas
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedward.base.arrays_file import Arrays, check_arrays, read_array, read_arrays
from fedward.base.durable_files import remove_leftovers
from fedward.base.limited_files import read_archive
from fedward.base.randomness import check_draw
from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.core.types import ServerState
from fedward.rundir import checkpoint
from fedward.rundir.blocks_ahead import blocks_ahead, write_ahead
from fedward.rundir.manifest import Manifest
from fedward.rundir.part_record import read_part
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
        self.path, self.files = run.path, run.files
        self._run = run
        self._save_space = save_space

    @property
    def finished(self) -> list[tuple[int, int]]:
        """Which replicas are finished, those included whose turn has not come."""
        ahead = [(start, stop) for start, stop, _ in blocks_ahead(self.path)]
        following = count_finished(self.path)
        return [(0, following), *ahead] if following else ahead

    def begin(self, manifest: Manifest, labels: NDArray[np.int64]) -> None:
        """Writes what is run, or checks that the directory holds the same run."""
        self._run.begin(manifest)
        remove_leftovers(self.path)
        self._check_finished(list(manifest.variants or ()))
        self.append_ahead()
        file = self.path / "labels.npz"
        if not file.exists() or not _holds(file, labels):
            self.files.write_arrays(file.name, {"labels": labels})

    def _check_finished(self, variants: Sequence[str]) -> None:
        """Notices damage before anything is trained, not when all is done and the summary is made."""
        blocks = finished_blocks(self.path)
        for start, stop, name in blocks:
            again = "remove it and those after it, and their replicas are trained again"
            _check(self.path / name, variants, stop - start, again)
        for start, stop, file in blocks_ahead(self.path):
            _check(file, variants, stop - start, "remove it, and its replicas are trained again")
        if not blocks and (self.path / _SUMS).exists():
            again = "put back a copy of it, or start again in another directory with --out"
            _check(self.path / _SUMS, variants, None, again)

    def load_block(self, variants: Sequence[str]) -> Block | None:
        """The block under way, in the order of these variants; one that was finished is dropped."""
        file = self.path / "block.pt"
        if not file.exists():
            return None
        saved = unseal(_FORMAT, read_archive(file), str(file), _AGAIN)
        if any(start <= saved["start"] < stop for start, stop in self.finished):
            self.files.remove(file.name)  # killed after its scores were stored and before it was removed
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
        states = checkpoint.to_contents(block.states)
        content = vars(block) | {"variants": list(block.variants), "states": states}
        self.files.write("block.pt", seal(_FORMAT, content), private=True)

    def finish_block(self, block: Block, arrays: Arrays, draw: str) -> None:
        """Stores what the block's replicas say, and only then forgets their states.

        Blocks may be finished in any order: one whose turn has not come waits for those before it.

        Args:
          block: which replicas.
          arrays: what they say.
          draw: that they belong to; empty for none.
        """
        arrays = arrays | {"asked": np.array(block.asked), "run": np.array(block.run)}
        if draw:
            arrays["draw"] = np.array(draw)
        if block.start == count_finished(self.path) and read_part(self.path) is None:
            self._append(block.start, block.stop, arrays)
        else:
            write_ahead(self.files, block.start, block.stop, arrays)
        self.files.remove("block.pt")
        self.append_ahead()

    def _append(self, start: int, stop: int, arrays: Arrays) -> None:
        """Stores the replicas that are next."""
        if not self._save_space:
            self.files.write_arrays(f"scores-{start:06d}-{stop:06d}.npz", arrays)
            return
        draw = {key: arrays.pop(key) for key in ("draw",) if key in arrays}
        sums = self.path / _SUMS
        before = read_arrays(sums, lambda key: key != "draw") if sums.exists() else None
        self.files.write_arrays(_SUMS, add_block(before, arrays, stop) | draw)

    def append_ahead(self) -> None:
        """Takes in the blocks whose turn has come; those of a part wait for ``fedward merge``."""
        if read_part(self.path) is not None:
            return
        for start, stop, file in blocks_ahead(self.path):
            following = count_finished(self.path)
            if start > following:
                return
            if start < following:  # killed after it was added and before it was removed
                self.files.remove(file.name)
            else:
                self._append(start, stop, read_arrays(file))
                self.files.remove(file.name)


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


def has_replicas(path: Path) -> bool:
    """Whether any is finished or under way."""
    return bool(stored_files(path) or blocks_ahead(path)) or (path / "block.pt").exists()


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
            missing = f"scores-{following:06d}-*.npz"
            raise InvalidValue(
                f"{path} must hold the scores of replica {following} next ({missing}), got {name}"
            )
        following = stop
    return found


def stored_draw(path: Path) -> str | None:
    """The draw of the finished replicas, empty where they belong to none; None where none is finished."""
    found = {_draw(file) for file in (*stored_files(path), *(file for _, _, file in blocks_ahead(path)))}
    if len(found) > 1:
        names = ", ".join(file.name for file in stored_files(path))
        raise InvalidValue(f"{path} must hold replicas of one draw, got those of {len(found)} in {names}")
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
