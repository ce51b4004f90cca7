"""The help of commands: those of a group in sections, and words for what an option takes."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from pathlib import Path
from typing import Any, ClassVar, get_args

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from fedward.base.visible_text import visible

# Click's UsageError: newer versions of typer have a click of their own, which nobody else can import by name.
_SLIP: Any = BadParameter.__base__
# What stands after an option that does not say it itself; never a type of Python.
_TAKES = {int: "NUMBER", float: "NUMBER", str: "NAME", Path: "PATH"}


def name_value(parameter: Parameter) -> None:
    """Lets the help of a parameter say in words what it takes, unless it says so itself."""
    annotated = get_args(parameter.annotation)
    info = annotated[-1] if annotated else None
    if isinstance(info, ArgumentInfo | OptionInfo) and info.metavar is None:
        types = {annotated[0], *get_args(annotated[0])}
        types |= {inner for each in types for inner in get_args(each)}
        named = [name for kind, name in _TAKES.items() if kind in types]
        if named:
            info.metavar = parameter.name.upper() if isinstance(info, ArgumentInfo) else named[0]


class PlainCommand(TyperCommand):
    """A command whose help has no types of Python beside its arguments either."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = []
            for each in self.get_params(ctx):
                record = each.get_help_record(ctx) if each.param_type_name == kind else None
                if record is not None:
                    # Some versions of typer escape brackets for rich, which does not print this.
                    says = record[1].replace("\\[", "[")
                    rows.append((str(each.metavar) if kind == "argument" else record[0], says))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Sections(TyperGroup):
    """A group whose help lists its commands in sections: in ``sections`` each has those of its commands."""

    sections: ClassVar[Mapping[str, tuple[str, ...]]]

    def invoke(self, ctx: Any) -> Any:
        """Calls a command; what is said about a slip quotes what was typed, or what a shell put there."""
        try:
            return super().invoke(ctx)
        except _SLIP as error:
            raise _SLIP(visible(error.format_message()), error.ctx) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, names in self.sections.items():
            helps = [self.commands[name].get_short_help_str(formatter.width - width - 6) for name in names]
            padded = [name.ljust(width) for name in names]
            with formatter.section(title):
                formatter.write_dl(list(zip(padded, helps, strict=True)))
