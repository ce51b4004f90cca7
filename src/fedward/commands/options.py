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

from fedward.base.visible_text import visible
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
Range = Annotated[
    str | None,
    Option("--range", metavar="A:B", help="Only A to B - 1, in a directory to merge: fedward merge."),
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
    device: Annotated[
        str | None, Option(help="Where models are trained: cpu, or cuda where there is one.")
    ] = None
    engine: Engine = None
    cluster: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="A Ray cluster: HOST:PORT, auto, or local:N for N nodes here."),
    ] = None
    instructions: Annotated[
        str | None, Option(help="avx512, avx2 or portable, for every node; else the widest there is.")
    ] = None
    gpus: Annotated[
        float | None, Option(help="GPUs that a task on the cluster takes, 0.25 for a quarter of one.")
    ] = None
    trust: Trust = False

    def compute(self) -> Compute:
        """Where and how it is computed: as said here, else as in the file's table ``[compute]``.

        What this machine cannot do is refused.
        """
        from fedward.base.instruction_sets import set_environment

        content = self._content()
        table = content.get("compute")
        told = table.get("instructions") if isinstance(table, dict) else None
        # Before torch is imported.
        set_environment(self.instructions or (told if isinstance(told, str) else ""))
        from fedward.config.compute_section import compute_of

        return compute_of(
            content,
            workers=self.workers,
            device=self.device,
            engine=self.engine,
            cluster=self.cluster,
            instructions=self.instructions,
            gpus=self.gpus,
        ).check()

    def _content(self) -> dict[str, Any]:
        """The tables of the file; none where it cannot be read, which ``source`` says."""
        from fedward.base.validate import InvalidValue
        from fedward.config.file_content import read_content

        try:
            return {} if self.file is None else read_content(self.file, self.changes or [])
        except InvalidValue:
            return {}

    def source(self) -> Source:
        """The content of the file, with the changes in it."""
        return trusted_source(self.file, self.changes, self.trust)


@dataclass(frozen=True, kw_only=True)
class AskedIfAny(Asked):
    """The same, for a command that can do without an experiment file."""

    file: Annotated[Path | None, Argument(help="The experiment file (TOML); none with --self-test.")] = None  # type: ignore[assignment]


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
    range: Range = None

    def axes(self, source: Source) -> list[Axis]:
        """What varies in an experiment."""
        return source.axes(self.vary or [])


def trusted_source(file: Path, changes: list[str] | None, trust: bool) -> Source:
    """The content of a file; the code that it names is imported if that is allowed, here or by an answer."""
    from fedward.api.source import source_from

    return allow_code(source_from(file, changes=changes or []), file, trust)


def allow_code(source: Source, file: Path, trust: bool) -> Source:
    """A source with its code imported, if that is allowed, here or by an answer."""
    from fedward.config.own_code import code_names

    names = code_names(source.content)
    if names and not trust and sys.stdin.isatty() and sys.stderr.isatty():
        trust = confirm(
            visible(
                f"{file} names code of its own ({', '.join(names)}), which runs with all your rights. Run it?"
            ),
            err=True,
        )
    return source.with_code() if trust else source
