"""The draw that the replicas of a run directory belong to: that of what is claimed about them, or none."""

from __future__ import annotations

from pathlib import Path

from fedward.base.arrays_file import read_arrays
from fedward.base.randomness import check_draw
from fedward.base.validate import InvalidValue
from fedward.rundir.replica_store import Block, stored_files


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
