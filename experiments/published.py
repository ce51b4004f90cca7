"""Where an experiment writes, and how its records come to be the published ones beside its script.

Whatever is run goes to a directory of its own. Publishing is asked for, and a run that is smaller than the
published one in anything that can be counted is refused.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Of a record: keys that say how much was run.
_COUNTS = ("replicas", "rounds", "seeds", "targets", "shadows", "trainings")


def add_place_options(made: argparse.ArgumentParser) -> None:
    """The options that every experiment has."""
    made.add_argument(
        "--out", type=Path, help="where records and pictures go; runs/ and the experiment's name if not given"
    )
    made.add_argument(
        "--publish",
        action="store_true",
        help="put them beside the script in the end, unless they are smaller than those that are there",
    )


@dataclass(frozen=True, kw_only=True)
class Place:
    """Args:
    here: the folder of the experiment, with the published records.
    out: where this run writes.
    publishes: whether its records become the published ones in the end.
    show: whether nothing is run: then what was published is shown where there is nothing else.
    """

    here: Path
    out: Path
    publishes: bool = False
    show: bool = False

    def file(self, name: str) -> Path:
        """Where a file is written."""
        return self.out / name

    def records(self, name: str) -> Path:
        """Where records are read and added to; the published ones if they are only shown."""
        own, published = self.out / name, self.here / name
        return published if self.show and not own.exists() and published.exists() else own

    def publish(self, *names: str, pictures: Path | None = None) -> None:
        """Puts these files beside the script if that was asked for; those that do not exist are left out.

        Args:
          names: of the files.
          pictures: where .png files go, if that is another place.
        """
        if not self.publishes:
            print(f"{', '.join(names)}: in {self.out}")
            return
        there = [name for name in names if (self.out / name).exists()]
        for name in there:
            require_no_smaller(self.out / name, self.here / name)
        for name in there:
            folder = pictures if pictures is not None and name.endswith(".png") else self.here
            shutil.copyfile(self.out / name, folder / name)


def place_of(options: argparse.Namespace, here: Path) -> Place:
    """The place that a command line asks for."""
    out = options.out if options.out is not None else Path("runs") / here.name
    if out.resolve() == here.resolve():
        raise SystemExit(f"--out must be another directory than that of the published records, got {out}")
    show = bool(vars(options).get("show"))
    if options.publish and (vars(options).get("small") or show):
        raise SystemExit("--publish is for a whole run, got it with --small or --show")
    out.mkdir(parents=True, exist_ok=True)
    return Place(here=here, out=out, publishes=options.publish, show=show)


def require_no_smaller(new: Path, published: Path) -> None:
    """Ends the program if a record holds less than the published one; pictures hold nothing to count."""
    if not published.exists():
        return
    before, now = size_of(published), size_of(new)
    for what, count in before.items():
        if now[what] < count:
            raise SystemExit(
                f"{published} is not replaced: {new} has {now[what]:,} {what}, the published one {count:,}"
            )


def size_of(file: Path) -> Counter[str]:
    """How much a record holds: its lines, its numbers, and the largest of each key that counts trainings."""
    if file.suffix == ".jsonl":
        lines = [json.loads(line) for line in file.read_text(encoding="utf8").splitlines()]
        return _size(lines) + Counter(lines=len(lines))
    if file.suffix == ".json":
        return _size(json.loads(file.read_text(encoding="utf8")))
    if file.name.endswith(".json.gz"):
        return _size(json.loads(gzip.decompress(file.read_bytes())))
    return Counter()


def _size(content: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    stack = [content]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key in _COUNTS:
                if isinstance(value.get(key), int):
                    found[key] = max(found[key], value[key])
            stack += value.values()
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found["numbers"] += 1
    return found
