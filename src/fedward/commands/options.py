"""The options that several commands have, in groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from fedward.api.source import Source, source_from
from fedward.backends.compute import Compute
from fedward.config.vary import Axis

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Another value for a key of the file, in TOML; KEY= takes it out."
    ),
]
Data = Annotated[Path | None, typer.Option("--data", help="Where data sets lie; else FEDWARD_DATA.")]
Engine = Annotated[
    str | None,
    typer.Option("--engine", help="native, generic, or auto: native where it covers the model."),
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Lets a command take groups of options: a parameter whose type is a dataclass becomes its fields."""
    hints = get_type_hints(command, include_extras=True)
    names = inspect.signature(command).parameters
    groups = {name: hints[name] for name in names if is_dataclass(hints[name])}
    parameters: list[Parameter] = []
    for name, given in names.items():
        if name not in groups:
            parameters.append(given.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
            continue
        own = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            default = Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=own[field.name])
            )

    @wraps(command)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # which typer reads
    return call


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An experiment file, its data, and where and how it is computed."""

    file: Annotated[Path, typer.Argument(help="The experiment file (TOML).")]
    changes: Set = None
    data: Data = None
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Threads or processes that train, 0 for neither; else one a core."),
    ] = None
    device: Annotated[
        str, typer.Option("--device", help="Where models are trained: cpu, or cuda where there is one.")
    ] = "cpu"
    engine: Engine = None

    def compute(self) -> Compute:
        """Where and how it is computed; what this machine cannot do is refused."""
        return Compute(workers=self.workers, device=self.device, engine=self.engine).check()

    def source(self) -> Source:
        """The content of the file, with the changes in it."""
        return source_from(self.file, self.changes or [])


@dataclass(frozen=True, kw_only=True)
class Several:
    """Many trainings of an experiment."""

    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=V,V,...", help="A key of the file and the values it takes."),
    ] = None
    save_space: Annotated[
        bool, typer.Option("--save-space", help="Keep running sums, not the confidences of every replica.")
    ] = False
    block: Annotated[
        int | None, typer.Option("--block", help="How many replicas go through their rounds together.")
    ] = None

    def axes(self) -> list[Axis]:
        """What varies."""
        return [Axis.parse(text) for text in self.vary or []]
