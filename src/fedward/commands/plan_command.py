"""``fedward plan``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from fedward.commands.options import Set, grouped
from fedward.commands.output import AsJson, answer, take_one
from fedward.reports.terminal.console import plain_console, say

_RATES = [0.01, 0.03, 0.1, 0.3, 1.0]
_ROUNDS = [1, 3, 10, 30, 100]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What must be certified against whom, and what may be spent on it."""

    k: Annotated[int, Option("--k", help="How many attackers must be survived.")]
    users: Annotated[int | None, Option(help="N; that of the pilot if not given.")] = None
    epsilon: Annotated[float | None, Option(help="ε that one training may spend.")] = None
    delta: Annotated[float | None, Option(help="δ; N^-1.1 if not given, at most 0.01.")] = None
    threat: Annotated[str, Option(help="inject, present or compromise.")] = "inject"
    attendance: Annotated[str, Option(help="Attackers are drawn, or there every-round.")] = "drawn"
    share: Annotated[float, Option(help="Of the test examples, how many should be certified.")] = 0.5
    error: Annotated[float | None, Option(help="ψ, with which the certificate may fail; 0.01.")] = None
    psi: Annotated[float | None, Option(hidden=True)] = None  # the name that --error had
    classes: Annotated[int | None, Option(help="How many classes; those of the pilot, else 10.")] = None
    replicas: Annotated[int | None, Option("--replicas", "-m", help="M; chosen if not given.")] = None

    def goal(self) -> dict[str, Any]:
        """The arguments of ``fedward.plan``."""
        error = take_one("--error", self.error, "--psi", self.psi)
        given = {name: value for name, value in asdict(self).items() if name not in ("error", "psi")}
        return given if error is None else given | {"error": error}


@grouped
def plan_command(
    *,
    wanted: Wanted,
    pilot: Annotated[
        Path | None,
        Option(help="A run of fedward replicas or certify, or an experiment file that is trained briefly."),
    ] = None,
    changes: Set = None,
    data: Annotated[Path | None, Option(help="Where data sets lie; else FEDWARD_DATA.")] = None,
    top: Annotated[float | None, Option(help="An expected vote that is assumed, without a pilot.")] = None,
    sampling_rate: Annotated[list[float], Option(help="q to try; repeat it.")] = _RATES,
    rounds: Annotated[list[int], Option(help="T to try; repeat it.")] = _ROUNDS,
    seconds: Annotated[float, Option(help="How long pilot trainings may take, about.")] = 30.0,
    out: Annotated[
        Path | None,
        Option(
            "--picture", help="Draw the frontier: a .png, .svg or .pdf; its numbers go beside it, as .csv."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which noise, sampling rate, rounds and replicas to take for a wanted ε and k, and why."""
    from fedward.api.plan_api import plan
    from fedward.reports.pictures.picture import check_picture_path, save_with_numbers
    from fedward.reports.plan_words import goal_in_words
    from fedward.reports.terminal.plan_table import plan_table

    if out is not None:
        check_picture_path(out, "picture")
    found = plan(
        pilot,
        **wanted.goal(),
        top=top,
        sampling_rates=sampling_rate,
        rounds=rounds,
        seconds=seconds,
        changes=changes or (),
        data=data,
        quiet=as_json,
    )
    drawn = out is not None and bool(found.frontier)
    if out is not None and found.frontier:
        save_with_numbers(found.plot(), out)
    if as_json:
        answer(True, found.to_json() | {"picture": str(out) if drawn else None})
        return
    console = plain_console()
    say(console, goal_in_words(found.goal), *found.words)
    if found.command:
        say(console, f"Train and certify it: {found.command}")
    if drawn:
        say(console, f"The frontier is drawn in {out}.")
    if found.frontier:
        console.print(plan_table(found))
