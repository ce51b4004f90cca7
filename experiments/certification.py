"""What the experiments on certificates share: the command that is run, and where its results go."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fedward.base.arrays_file import read_array
from fedward.rundir.replica_store import finished_blocks
from support import parser

Record = dict[str, Any]


def options(
    description: str,
    *,
    replicas: int,
    still: int = 0,
    show: str = "",
    more: Callable[[argparse.ArgumentParser], object] | None = None,
) -> Any:
    """The command line of such an experiment.

    Args:
      still: how many replicas there are without noise, where that is another number.
      show: what ``--show`` does, where there is such a thing.
      more: adds options of the experiment's own.
    """
    made = parser(description)
    made.add_argument("--replicas", type=int, default=replicas, help="M")
    made.add_argument("--small", action="store_true", help="fewer noise levels and attacks, as the page says")
    made.add_argument("--runs", type=Path, default=Path("runs"), help="where the trainings are kept")
    if still:
        made.add_argument("--still", type=int, default=still, help="M of the trainings without noise")
    if show:
        made.add_argument("--show", action="store_true", help=show)
    if more is not None:
        more(made)
    return made.parse_args()


def fedward(command: str, file: Path, chosen: Any, name: str, *more: str) -> Path:
    """Runs ``fedward certify`` or ``fedward replicas`` on a file, or goes on with it; its run directory."""
    out = chosen.runs / name
    words = [sys.executable, "-m", "fedward", command, str(file), "-m", str(chosen.replicas), *more]
    words += ["--out", str(out), *(["--data", chosen.data] if chosen.data else [])]
    print(" ".join(words[2:]), flush=True)
    began = time.monotonic()
    subprocess.run(words, check=True)
    print(f"{time.monotonic() - began:,.0f} s", flush=True)
    return Path(out)


def certified(run: Path) -> Record:
    """What ``fedward certify`` found, by variant."""
    found: Record = json.loads((run / "certified.json").read_text())
    return found


def accuracies(run: Path) -> dict[str, Any]:
    """The test accuracy of every finished replica, by variant; of a run under way, of its finished blocks."""
    if not (run / "run.json").exists():
        return {}
    variants = json.loads((run / "run.json").read_text())["experiment"]["variants"]
    blocks = [run / name for _, _, name in finished_blocks(run)]
    return {
        variant: np.concatenate([read_array(block, f"{variant}/accuracy") for block in blocks])
        for variant in variants
        if blocks
    }


def keep(run: Path, names: dict[str, str], folder: Path) -> None:
    """Copies files of a run beside the experiment."""
    for name, kept in names.items():
        shutil.copyfile(run / name, folder / kept)


def varied(key: str, values: tuple[float | str, ...]) -> tuple[str, str]:
    """Arguments that vary a key."""
    return "--vary", f"{key}=" + ",".join(f'"{v}"' if isinstance(v, str) else f"{v:g}" for v in values)
