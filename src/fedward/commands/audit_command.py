"""``fedward audit``."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Option

from fedward.base.validate import InvalidValue
from fedward.commands.options import AskedIfAny, grouped
from fedward.commands.output import AsJson, answer, place
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from fedward.auditing.audit_question import AuditQuestion, Mode, See


@dataclass(frozen=True, kw_only=True)
class Questions:
    """How to audit: the fields of ``AuditQuestion``."""

    mode: Annotated[
        str,
        Option(help="mechanism, one-run or black-box: many trainings, one, or real data and the last model."),
    ] = "mechanism"
    see: Annotated[
        str | None,
        Option(help="What the attacker sees: rounds, or the final model alone. All rounds if possible."),
    ] = None
    runs: Annotated[int, Option(help="How many trainings; a one-run audit has one.")] = 4000
    canaries: Annotated[
        int | None, Option(help="Of a one-run audit; else as many as there is room for, at most 1,000.")
    ] = None
    error: Annotated[float, Option(help="How likely the bounds may be wrong, all of them together.")] = 0.05

    def question(self) -> AuditQuestion:
        """The same as one checked value."""
        from fedward.api.audit_api import make_question

        mode, see = cast("Mode", self.mode), cast("See | None", self.see)
        return make_question(mode, see, self.runs, self.canaries, self.error)


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """A test of the audit itself."""

    self_test: Annotated[
        bool, Option("--self-test", help="Audit broken mechanisms, which must be caught, and sound ones.")
    ] = False
    sound: Annotated[int, Option(help="How often the self-test audits a sound mechanism.")] = 20


@grouped
def audit_command(
    *,
    asked: AskedIfAny,
    asks: Questions,
    testing: SelfTest,
    out: Annotated[
        str | None, Option(metavar="PATH", help="The run directory; else runs/NAME-audit.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure privacy: attack the mechanism, bound its ε from below, and put that beside the promise.

    Exits with 1 where the bound lies above the promise: it is broken. A pass proves nothing.
    """
    if testing.self_test:
        if asked.file is not None:
            raise InvalidValue(f"--self-test brings experiments of its own: leave out {asked.file}")
        if asks != Questions() or out is not None:
            raise InvalidValue(
                "--self-test asks questions of its own and stores nothing: leave out --mode, --see, --runs, "
                "--canaries, --error and --out"
            )
        _self_test(testing.sound, as_json)
        return
    if asked.file is None:
        raise InvalidValue("an experiment file must be given, or --self-test, got neither")
    from fedward.api.audit_api import audit_source
    from fedward.reports.terminal import audit_table

    question, compute, source = asks.question(), asked.compute(), asked.source()
    console, begun = plain_console(stderr=as_json), monotonic()
    path = source.directory(place(out), "-audit")
    result = audit_source(source, question, path, asked.data, compute, console)
    if as_json:
        answer(True, {**result.to_json(), "directory": str(path)})
    else:
        audit_table.show(console, result, monotonic() - begun)
        say(console, f"result.json is in {path}")
    if result.verdict == "violation":
        raise typer.Exit(1)


def _self_test(sound: int, as_json: bool) -> None:
    from fedward.api.audit_self_test import run_self_test
    from fedward.reports.terminal import audit_table

    found = run_self_test(sound, plain_console(stderr=True, quiet=as_json))
    if as_json:
        answer(True, found.to_json())
    else:
        audit_table.show_self_test(plain_console(), found)
    if not found.passed:
        raise typer.Exit(1)
