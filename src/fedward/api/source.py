"""An experiment as Python gives it: the path of a file, or its tables as a dictionary."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from fedward.base.validate import InvalidType, InvalidValue
from fedward.config import experiment as config
from fedward.config.overrides import apply_changes, put, source_of
from fedward.report.terminal.console import plain_console

File = str | os.PathLike[str] | Mapping[str, Any]
Changes = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Source:
    """The content of an experiment, not checked yet, and how errors name it."""

    content: dict[str, Any]
    name: str
    stem: str | None

    def directory(self, out: str | os.PathLike[str] | None, ending: str = "") -> Path:
        """Where it is run: ``runs/NAME`` unless it was said."""
        if out is not None:
            if not os.fspath(out):
                raise InvalidValue("out must be the path of a directory, got ''")
            return Path(out)
        if self.stem is None:
            raise InvalidValue("out must be given where the experiment is a dictionary, got none")
        return Path("runs") / f"{self.stem}{ending}"


def source_from(file: File, changes: Changes = ()) -> Source:
    """Reads a file, or takes a dictionary, and puts other values in.

    Args:
      file: an experiment file, or its tables.
      changes: other values for some keys: ``{"algorithm.clip_bound": 2.0}``, or as on the command line,
        ``["algorithm.clip_bound=2.0"]``.
    """
    if isinstance(changes, str):
        raise InvalidType(f"changes must be a dictionary or a list of KEY=VALUE, got the text {changes!r}")
    texts = [] if isinstance(changes, Mapping) else list(changes)
    if isinstance(file, Mapping):
        content, name, stem = apply_changes(dict(copy.deepcopy(file)), texts), "experiment", None
    elif isinstance(file, str | os.PathLike):
        path = Path(file)
        content, name, stem = config.read_content(path, texts), str(path), path.stem
    else:
        raise InvalidType(
            f"an experiment must be the path of a file or a dictionary, got {type(file).__name__}"
        )
    if isinstance(changes, Mapping):
        for key, value in changes.items():
            put(content, key, value)
            texts.append(f"{key}={value}")
    return Source(content=content, name=source_of(name, texts), stem=stem)


def console_for(quiet: bool) -> Console:
    """Where headings and progress go."""
    return plain_console(quiet=quiet)
