"""Runs on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from fedward.attacks.attack import KNOWLEDGE
from fedward.privacy import Ledger
from fedward.privacy.rounding import round_up
from fedward.reports.numbers import finite, many, thin
from fedward.reports.templates import lines
from fedward.reports.terminal.console import say, table
from fedward.rundir.computed_by import changes, versions
from fedward.rundir.manifest import ComputedBy
from fedward.rundir.results import MeasuredRound, TrainingResult
from fedward.rundir.store import RunDirectory
from fedward.studies.training.training_study import Setup

_ROWS = 12


def heading(console: Console, setup: Setup, directory: Path) -> None:
    """What is going to be run, before it is."""
    experiment, algorithm = setup.experiment, setup.algorithm
    budget = experiment.make_budget(algorithm, setup.federation)
    limited = budget is not None and algorithm.accounting == "users"
    say(
        console,
        *lines(
            "terminal/run_heading.txt",
            setup=setup,
            budget=budget,
            looks=limited and any(map(algorithm.looks, range(experiment.rounds))),
            knowledge=KNOWLEDGE,
            directory=directory,
        ),
    )


def engine(console: Console, words: str, directory: Path) -> None:
    """What computes, and whether a run that goes on was computed by something else so far."""
    say(console, words)
    if not (directory / "run.json").exists():
        return
    run = RunDirectory(directory)
    stored = run.manifest()
    now = ComputedBy(engine=words, versions=versions())
    if (found := changes(stored, now)) and not run.is_over(stored):
        note = (
            f"note: so far this was computed by {'; '.join(found)}. It is the same training with the same "
            "ledger, but will not end with the bits that it would have ended with there"
        )
        say(console, note, style="yellow")


def result(
    console: Console, setup: Setup, spent: Ledger, result: TrainingResult, records: Sequence[MeasuredRound]
) -> None:
    """Rounds, accuracy and the guarantee of a finished run."""
    # Where users protect themselves there is no ε of a round: users differ.
    private = not setup.algorithm.unproven and setup.algorithm.accounting != "users"
    attacked = bool(records) and records[0].attack_success is not None
    headings = ["round", "accuracy", "loss", *(["attack success", "attack cost"] if attacked else [])]
    rows = []
    for record in thin(records, _ROWS):
        rounds = record.round + 1
        cells = [str(rounds), f"{record.accuracy:.2%}", finite(record.loss)]
        if attacked:
            cells += [f"{record.attack_success:.2%}", finite(record.attack_cost)]
        if private:
            cells.append(round_up(spent.after(rounds).guarantee(setup.delta, setup.accountant).epsilon))
        rows.append(cells)
    if records:
        console.print(table([*headings, *(["ε"] if private else [])], rows, left=0))
    if result.rejected_updates:
        console.print(
            f"{result.rejected_updates} updates were not finite or malformed and were rejected; "
            "if nobody attacks, the learning rate may be too high",
            style="yellow",
        )
    clips = setup.algorithm.server_clips
    say(console, *lines("terminal/run_attack.txt", result=result, server_clips=clips))
    if result.stopped_by_budget:
        whose = "each user's budget" if setup.algorithm.accounting == "users" else "the budget"
        of_all = many(setup.experiment.rounds, "round")
        console.print(f"stopped by {whose} after {result.rounds} of {of_all}", soft_wrap=True)
    say(console, result.statement, *details(result))


def details(result: TrainingResult) -> list[str]:
    """What stands below a guarantee: what it is made of, and what is said besides about single users."""
    more = (result.each_user, result.looks, result.papers_claim_statement)
    return [*result.shares, *filter(None, more)]
