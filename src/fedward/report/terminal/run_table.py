"""Runs on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from fedward.attacks.attack import KNOWLEDGE
from fedward.core.parameters import ParameterSpec
from fedward.privacy import Ledger
from fedward.privacy.rounding import round_up
from fedward.report.numbers import finite, many, thin
from fedward.report.terminal.console import say, table
from fedward.rundir.computed_by import changes, versions
from fedward.rundir.manifest import ComputedBy
from fedward.rundir.results import MeasuredRound, TrainingResult
from fedward.rundir.store import RunDirectory
from fedward.studies.training.training_study import Setup

_ROWS = 12


def heading(console: Console, setup: Setup, directory: Path) -> None:
    """What is going to be run, before it is."""
    federation, experiment = setup.federation, setup.experiment
    say(
        console,
        f"{setup.algorithm.name} on {experiment.data.part}: {federation.num_users:,} users, "
        f"{len(federation.examples):,} training and {len(federation.test or ()):,} test examples",
        f"{experiment.model.part}, {ParameterSpec.of(setup.model).size:,} parameters; "
        f"{many(experiment.rounds, 'round')}, {setup.algorithm.sampler}, seed {experiment.seed}",
        None if setup.weights is None else str(setup.weights),
        _budget_in_words(setup),
        *_threat_lines(setup),
        f"run directory {directory}",
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


def _budget_in_words(setup: Setup) -> str | None:
    """What may be spent, and by whom; None if there is no limit."""
    budget = setup.experiment.make_budget(setup.algorithm, setup.federation)
    if budget is None:
        return None
    limit = f"ε = {budget.epsilon:g} at δ = {budget.delta:g}"
    if setup.algorithm.accounting != "users":
        return f"budget {limit}"
    looks = any(map(setup.algorithm.looks, range(setup.experiment.rounds)))
    what = "; the server's looks at norms count too" if looks else ""
    return f"budget of each user's own {limit}: training ends before the first overspends{what}"


def _threat_lines(setup: Setup) -> Iterator[str]:
    """Who attacks and with what; nothing if nobody does."""
    if setup.attack is None or setup.experiment.attack is None:
        return
    section, adversary = setup.experiment.attack, setup.attack.adversary
    parts = ", ".join(part.part for part in (*section.data, *section.model))
    chosen = adversary.rounds
    when = "in every round" if chosen is None else f"in rounds {list(chosen)}, counted from 0"
    yield (
        f"under attack: {len(adversary.users)} of {setup.federation.num_users:,} users, {parts}, {when}; "
        f"they know {KNOWLEDGE[adversary.knowledge]}"
    )
    yield from setup.attack.notes


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
    say(console, *_attack_lines(setup, result))
    if result.stopped_by_budget:
        whose = "each user's budget" if setup.algorithm.accounting == "users" else "the budget"
        of_all = many(setup.experiment.rounds, "round")
        console.print(f"stopped by {whose} after {result.rounds} of {of_all}", soft_wrap=True)
    details = (result.each_user, result.looks, result.papers_claim_statement)
    say(console, result.statement, *result.shares, *filter(None, details))


def _attack_lines(setup: Setup, result: TrainingResult) -> Iterator[str]:
    for name, attack in result.attacks.items():
        yield (
            f"{name}: success {attack.success:.2%}, cost {finite(attack.cost)}, on "
            f"{attack.examples} test examples"
        )
    if result.says("capped_attack_cost"):
        yield f"attack cost, capped at the bound fixed beforehand: {finite(result.capped_attack_cost)}"
    if result.says("parameter_cost"):
        yield f"attack cost ½‖θ - θ*‖² of the target model: {finite(result.parameter_cost)}"
    norms = result.norms
    if norms.malicious is not None:
        honest = "none" if norms.honest is None else f"{norms.honest:.4g}"
        # Where users protect themselves nobody clips what they send, and honest norms are mostly noise.
        when = "before clipping" if setup.algorithm.server_clips else "as they were sent"
        yield (
            f"mean norm of updates {when}: honest {honest}, malicious {norms.malicious:.4g} "
            "(telemetry, not covered by any ε)"
        )
    if kept := result.kept_rounds:
        first = f"round {kept[0].round + 1}: {kept[0].why}"
        yield f"{many(len(kept), 'round')} kept the model as it was; the first, {first}"
    yield from result.notes
