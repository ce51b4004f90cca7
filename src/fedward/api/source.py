"""An experiment as Python gives it: the path of a file, its tables as a dictionary, or objects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from rich.console import Console
from torch import nn

from fedward.attacks import Attack
from fedward.backends.compute import Compute
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config.compute_section import compute_of
from fedward.config.file_content import read_content
from fedward.config.overrides import apply_changes, copy_tables, put, source_of
from fedward.config.own_code import import_code
from fedward.config.vary import Axis
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.reports.terminal.console import plain_console

PathLike = str | os.PathLike[str]
File = PathLike | Mapping[str, Any]
What = File | Algorithm
Changes = Mapping[str, Any] | Sequence[str]
Vary = Mapping[str, Sequence[Any]] | Sequence[str]


class ExperimentOptions(TypedDict, total=False):
    """What every function takes that trains: see ``fedward.train``."""

    rounds: int | None
    seed: int | None
    attack: Attack | Mapping[str, Any] | None
    privacy: Mapping[str, Any] | None
    changes: Changes
    trust: bool


@dataclass(frozen=True, kw_only=True)
class Source:
    """The content of an experiment, not checked yet, and how errors name it."""

    content: dict[str, Any]
    name: str
    file: Path | None
    trust: bool = False

    @property
    def stem(self) -> str | None:
        """The name of its file without the ending."""
        return None if self.file is None else self.file.stem

    def with_code(self) -> Source:
        """The same, trusted: with the code that it names imported."""
        return replace(self, content=import_code(self.content, self.file), trust=True)

    def directory(self, out: PathLike | None, ending: str = "") -> Path:
        """Where it is run: ``runs/NAME`` unless it was said."""
        if out is not None:
            if not os.fspath(out):
                raise InvalidValue("out must be the path of a directory, got ''")
            return Path(out)
        if self.stem is None:
            raise InvalidValue("out must be given where the experiment is no file, got none")
        return Path("runs") / f"{self.stem}{ending}"

    def compute(self, given: Compute | None) -> Compute:
        """Where and how it is computed: as given, else as its table ``[compute]`` says."""
        return (given or compute_of(self.content)).check()

    def axes(self, vary: Vary) -> list[Axis]:
        """What varies, with code in the place of its names where the experiment is trusted."""
        if isinstance(vary, str):
            raise InvalidType(
                f"vary must be a dictionary or a list of KEY=VALUE,VALUE, got the text {vary!r}"
            )
        if isinstance(vary, Mapping):
            axes = [Axis(key=key, values=tuple(values)) for key, values in vary.items()]
        else:
            axes = [Axis.parse(text) for text in vary]
        if not self.trust:
            return axes
        return [
            Axis(key=axis.key, values=tuple(import_code({axis.key: list(axis.values)})[axis.key]))
            for axis in axes
        ]


def source_from(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    rounds: int | None = None,
    seed: int | None = None,
    attack: Attack | Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    changes: Changes = (),
    trust: bool = False,
) -> Source:
    """Reads a file, or takes a dictionary or objects, and puts other values in.

    Args:
      what: an experiment file, its tables, or an algorithm; with an algorithm the model, the federation,
        rounds and seed must be given too.
      model, federation: in the place of the tables ``[model]`` and ``[data]``.
      rounds, seed, attack, privacy: in the place of these keys.
      changes: other values for some keys: ``{"algorithm.clip_bound": 2.0}``, or as on the command line,
        ``["algorithm.clip_bound=2.0"]``.
      trust: whether code that a file or a dictionary names may be imported.
    """
    if isinstance(changes, str):
        raise InvalidType(f"changes must be a dictionary or a list of KEY=VALUE, got the text {changes!r}")
    texts = [] if isinstance(changes, Mapping) else list(changes)
    given: dict[str, object] = {"model": model, "data": federation, "rounds": rounds, "seed": seed}
    given |= {"attack": attack, "privacy": privacy}
    put_in = {key: copy_tables(value) for key, value in given.items() if value is not None}
    path: Path | None = None
    if isinstance(what, Algorithm):
        _require_all(given)
        content, name = apply_changes({"algorithm": what, **put_in}, texts), "experiment"
    elif isinstance(what, Mapping):
        content, name = apply_changes({**what, **put_in}, texts), "experiment"
    elif isinstance(what, str | os.PathLike):
        path = Path(what)
        content, name = read_content(path, texts) | put_in, str(path)
    else:
        raise InvalidType(
            "an experiment must be the path of a file, a dictionary or an Algorithm, got "
            f"{type(what).__name__}"
        )
    if isinstance(changes, Mapping):
        for key, value in changes.items():
            put(content, key, value)
            texts.append(f"{key}={value}")
    source = Source(content=content, name=source_of(name, texts), file=path)
    return source.with_code() if trust else source


def _require_all(given: Mapping[str, object]) -> None:
    names = {"model": "model", "data": "federation", "rounds": "rounds", "seed": "seed"}
    missing = [name for key, name in names.items() if given[key] is None]
    if missing:
        raise InvalidValue(f"{' and '.join(missing)} must be given with an algorithm, got none")


def console_for(quiet: bool) -> Console:
    """Where headings and progress go."""
    return plain_console(quiet=quiet)
