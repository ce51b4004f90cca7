"""What the results page says of one table or figure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from support import Record, finished, grouped, interval

EXPERIMENTS = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Item:
    """One table or figure of a paper.

    Args:
      name: as the paper numbers it.
      about: what it shows.
      size: what was run here; for what was not, what it would take.
      verdict: whether it is reproduced.
      folder: where the experiment is; nothing was run if not given.
      lines: numbers, the paper's beside ours.
    """

    name: str
    about: str
    size: str
    verdict: str
    folder: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """A link from a page in docs."""
        return f"[{self.folder}](../experiments/{self.folder}/README.md)" if self.folder else "-"

    @property
    def link(self) -> str:
        """The name, linked to its own section where there is one."""
        anchor = re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")
        return f"[{self.name}](#{anchor})" if self.lines else self.name

    @property
    def closing(self) -> str:
        """What it amounts to, as a sentence."""
        # A capital ε would read as an E.
        verdict, size = (
            text if text[0] == "ε" else text[0].upper() + text[1:] for text in (self.verdict, self.size)
        )
        return f"**{verdict}.** {size}." + (f" {self.where}" if self.folder else "")

    @property
    def heading(self) -> str:
        return f"{self.name}: {self.about}"


def content(path: str) -> Any:
    """A file of results, in a folder of experiments."""
    return json.loads((EXPERIMENTS / path).read_text(encoding="utf8"))


def records(path: str) -> dict[str, list[Record]]:
    """Finished trainings by name."""
    return grouped(finished(EXPERIMENTS / path))


def last(found: list[Record], key: str) -> str:
    return interval(record[key][-1] for record in found) if found else "-"


def late(found: list[Record]) -> str:
    """Success swings from round to round on red cars, so it is a mean over the last three."""
    return interval(float(np.mean(record["attack_success"][-3:])) for record in found)
