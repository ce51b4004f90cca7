"""Runs on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.attacks.attack import KNOWLEDGE
from fedward.core.parameters import ParameterSpec
from fedward.privacy import Ledger
from fedward.privacy.rounding import round_up
from fedward.rundir.computed_by import changes, versions
from fedward.rundir.store import RunDirectory
from fedward.studies.training.runner import Setup

_ROWS = 12


def heading(console: Console, setup: Setup, directory: Path) -> None:
    """What is going to be run, before it is."""
    federation, experiment = setup.federation, setup.experiment
    test = len(federation.test) if federation.test is not None else 0
    console.print(
        f"{setup.algorithm.name} on {experiment.data.part}: {federation.num_users:,} users, "
        f"{len(federation.examples):,} training and {test:,} test examples\n"
        f"{experiment.model.part}, {ParameterSpec.of(setup.model).size:,} parameters; "
        f"{experiment.rounds} round{'s' * (experiment.rounds > 1)}, {setup.algorithm.sampler}, "
        f"seed {experiment.seed}\n"
        f"{_weights_in_words(setup)}{_budget_in_words(setup)}{_attack_in_words(setup)}"
        f"run directory {directory}",
        highlight=False,
        soft_wrap=True,
    )


def engine(console: Console, words: str, directory: Path) -> None:
    """What computes, and whether a run that goes on was computed by something else so far."""
    console.print(words, highlight=False, soft_wrap=True)
    if not (directory / "run.json").exists():
        return
    run = RunDirectory(directory)
    stored = run.manifest()
    if (found := changes(stored, words, versions())) and not run.is_over(stored):
        console.print(
            f"note: so far this was computed by {'; '.join(found)}. It is the same training with the same "
            "ledger, but will not end with the bits that it would have ended with there",
            style="yellow",
            highlight=False,
            soft_wrap=True,
        )


def _weights_in_words(setup: Setup) -> str:
    """Which file the model starts from; nothing if it starts from its seed."""
    return "" if setup.weights is None else f"{setup.weights}\n"


def _budget_in_words(setup: Setup) -> str:
    """What may be spent, and by whom; nothing if there is no limit."""
    budget = setup.experiment.make_budget(setup.algorithm, setup.federation)
    if budget is None:
        return ""
    limit = f"ε = {budget.epsilon:g} at δ = {budget.delta:g}"
    if setup.algorithm.accounting != "users":
        return f"budget {limit}\n"
    looks = any(map(setup.algorithm.looks, range(setup.experiment.rounds)))
    what = "; the server's looks at norms count too" if looks else ""
    return f"budget of each user's own {limit}: training ends before the first overspends{what}\n"


def _attack_in_words(setup: Setup) -> str:
    """Who attacks and with what; nothing if nobody does."""
    if setup.attack is None or setup.experiment.attack is None:
        return ""
    section, adversary = setup.experiment.attack, setup.attack.adversary
    parts = ", ".join(part.part for part in (*section.data, *section.model))
    chosen = adversary.rounds
    when = "in every round" if chosen is None else f"in rounds {list(chosen)}, counted from 0"
    lines = [
        f"under attack: {len(adversary.users)} of {setup.federation.num_users:,} users, {parts}, {when}; "
        f"they know {KNOWLEDGE[adversary.knowledge]}",
        *setup.attack.notes,
    ]
    return "\n".join(lines) + "\n"


def result(
    console: Console, setup: Setup, spent: Ledger, result: dict[str, Any], records: Sequence[dict[str, Any]]
) -> None:
    """Rounds, accuracy and the guarantee of a finished run."""
    # Where users protect themselves there is no ε of a round: users differ.
    private = not setup.algorithm.unproven and setup.algorithm.accounting != "users"
    attacked = bool(records) and "attack_success" in records[0]
    attack_columns = ["attack success", "attack cost"] if attacked else []
    table = Table("round", "accuracy", "loss", *attack_columns, *(["ε"] if private else []))
    for column in table.columns:
        column.justify = "right"
    for record in thinned(records, _ROWS):
        rounds = record["round"] + 1
        cells = [str(rounds), f"{record['accuracy']:.2%}", _number(record["loss"])]
        if attacked:
            cells += [f"{record['attack_success']:.2%}", _number(record["attack_cost"])]
        if private:
            cells.append(round_up(spent.after(rounds).guarantee(setup.delta, setup.accountant).epsilon))
        table.add_row(*cells)
    if records:
        console.print(table)
    if result.get("rejected_updates"):
        console.print(
            f"{result['rejected_updates']} updates were not finite or malformed and were rejected; "
            "if nobody attacks, the learning rate may be too high",
            style="yellow",
        )
    for line in _attack_lines(setup, result):
        console.print(line, highlight=False, soft_wrap=True)
    if result["stopped_by_budget"]:
        whose = "each user's budget" if setup.algorithm.accounting == "users" else "the budget"
        of_all = f"{setup.experiment.rounds} round{'s' * (setup.experiment.rounds > 1)}"
        console.print(f"stopped by {whose} after {result['rounds']} of {of_all}", soft_wrap=True)
    console.print(result["statement"], highlight=False, soft_wrap=True)
    details = [result.get(key) for key in ("each_user", "looks", "papers_claim_statement")]
    for line in [*result.get("shares", []), *filter(None, details)]:
        console.print(line, highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4f}"


def _attack_lines(setup: Setup, result: dict[str, Any]) -> Iterator[str]:
    for name, attack in result.get("attacks", {}).items():
        yield (
            f"{name}: success {attack['success']:.2%}, cost {_number(attack['cost'])}, on "
            f"{attack['examples']} test examples"
        )
    if "capped_attack_cost" in result:
        yield f"attack cost, capped at the bound fixed beforehand: {_number(result['capped_attack_cost'])}"
    if "parameter_cost" in result:
        yield f"attack cost ½‖θ - θ*‖² of the target model: {_number(result['parameter_cost'])}"
    norms = result.get("norms", {})
    if norms.get("malicious") is not None:
        honest = "none" if norms["honest"] is None else f"{norms['honest']:.4g}"
        # Where users protect themselves nobody clips what they send, and honest norms are mostly noise.
        when = "before clipping" if setup.algorithm.server_clips else "as they were sent"
        yield (
            f"mean norm of updates {when}: honest {honest}, malicious {norms['malicious']:.4g} "
            "(telemetry, not covered by any ε)"
        )
    kept = result.get("kept_rounds", [])
    if kept:
        rounds = f"{len(kept)} rounds" if len(kept) > 1 else "1 round"
        yield f"{rounds} kept the model as it was; the first, round {kept[0]['round'] + 1}: {kept[0]['why']}"
    yield from result.get("notes", [])


def thinned(records: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many records, evenly spread, the first and the last among them.

    >>> [r["round"] for r in thinned([{"round": t} for t in range(100)], 4)]
    [0, 33, 66, 99]
    """
    if len(records) <= most:
        return list(records)
    return [records[round(i * (len(records) - 1) / (most - 1))] for i in range(most)]
