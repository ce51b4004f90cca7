"""The options that several commands have, in groups."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, confirm

from fedward.commands.help_text import name_value

if TYPE_CHECKING:
    from fedward.api.source import Source
    from fedward.backends.compute import Compute
    from fedward.config.vary import Axis

Set = Annotated[
    list[str] | None,
    Option(
        "--set", metavar="KEY=VALUE", help="Another value for a key of the file, in TOML; KEY= takes it out."
    ),
]
Data = Annotated[Path | None, Option("--data", help="Where data sets lie; else FEDWARD_DATA.")]
Trust = Annotated[
    bool, Option("--trust", help="Run the code that the file names (name = 'module:Part'): read it first.")
]
Engine = Annotated[
    str | None, Option("--engine", help="native, generic, or auto: native where it covers the model.")
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Lets a command take groups of options: a parameter whose type is a dataclass becomes its fields.

    The help of every option says in words what it takes.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for name, given in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(group := given.annotation):
            assert isinstance(group, type)
            groups[name] = group
            parameters += inspect.signature(group, eval_str=True).parameters.values()
        else:
            parameters.append(given.replace(kind=Parameter.KEYWORD_ONLY))
    for each in parameters:
        name_value(each)

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

    file: Annotated[Path, Argument(help="The experiment file (TOML).")]
    changes: Set = None
    data: Data = None
    workers: Annotated[
        int | None, Option(help="Threads or processes that train, 0 for neither; else one a core.")
    ] = None
    device: Annotated[str, Option(help="Where models are trained: cpu, or cuda where there is one.")] = "cpu"
    engine: Engine = None
    trust: Trust = False

    def compute(self) -> Compute:
        """Where and how it is computed; what this machine cannot do is refused."""
        from fedward.backends.compute import Compute

        return Compute(workers=self.workers, device=self.device, engine=self.engine).check()

    def source(self) -> Source:
        """The content of the file, with the changes in it."""
        return trusted_source(self.file, self.changes, self.trust)


@dataclass(frozen=True, kw_only=True)
class Several:
    """Many trainings of an experiment."""

    vary: Annotated[
        list[str] | None, Option(metavar="KEY=V,V,...", help="A key of the file and the values it takes.")
    ] = None
    save_space: Annotated[
        bool, Option("--save-space", help="Keep running sums, not the confidences of every replica.")
    ] = False
    block: Annotated[int | None, Option(help="How many replicas go through their rounds together.")] = None

    def axes(self, source: Source) -> list[Axis]:
        """What varies in an experiment."""
        return source.axes(self.vary or [])


def trusted_source(file: Path, changes: list[str] | None, trust: bool) -> Source:
    """The content of a file; the code that it names is imported if that is allowed, here or by an answer."""
    from fedward.api.source import source_from
    from fedward.config.own_code import code_names

    source = source_from(file, changes=changes or [])
    names = code_names(source.content)
    if names and not trust and sys.stdin.isatty() and sys.stderr.isatty():
        trust = confirm(
            f"{file} names code of its own ({', '.join(names)}), which runs with all your rights. Run it?",
            err=True,
        )
    return source.with_code() if trust else source
