"""``fedward.merge``: parts of a study in one directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from fedward.api.source import PathLike
from fedward.base.validate import InvalidValue
from fedward.rundir.results import ReplicasResult
from fedward.studies.merging.merged_replicas import merge_replicas
from fedward.studies.merging.merged_sweep import merge_sweep
from fedward.studies.merging.study_parts import open_parts

Kind = Literal["replicas", "certification", "sweep"]


def merge(parts: Sequence[PathLike], out: PathLike) -> Path:
    """Puts the parts of replicas, of a certification or of a sweep together: what ``fedward merge`` does.

    Args:
      parts: the directories that ``range="A:B"`` made; all of them.
      out: the directory that they become. The call that made the parts, without ``range``, goes on there.
    """
    merge_parts([Path(each) for each in parts], Path(out))
    return Path(out)


def merge_parts(parts: Sequence[Path], out: Path) -> tuple[ReplicasResult | int, Kind]:
    """The result of all replicas, or how many trainings a sweep has; and of what the parts are."""
    if not parts:
        raise InvalidValue("parts must be at least one directory, got none")
    if os.path.realpath(out) in map(os.path.realpath, parts):
        raise InvalidValue(f"out must be a directory of its own, got {out}, which is a part")
    with open_parts(parts) as opened:
        if opened[0].record.runs:
            return merge_sweep(opened, out), "sweep"
        kind: Kind = "certification" if (opened[0].path / "claims.json").exists() else "replicas"
        return merge_replicas(opened, out), kind
