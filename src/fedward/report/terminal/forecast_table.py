"""The forecasts of an experiment and of a sweep, printed on the terminal or given to programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.attacks.attack import KNOWLEDGE
from fedward.forecast.forecast import Forecast
from fedward.forecast.sweep_forecast import SweepForecast
from fedward.privacy import Guarantee
from fedward.privacy.rounding import epsilon_text, round_up_digits
from fedward.report.numbers import duration, many, size
from fedward.report.terminal.console import say
from fedward.report.terminal.console import table as table_of
from fedward.report.terminal.epsilon_about import common_lines, differing_columns
from fedward.rundir.server_looks import looks_alone


def print_forecast(console: Console, title: str, found: Forecast) -> None:
    """One line for each question that people have."""
    say(console, title, style="bold")
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, text in _lines(found):
        table.add_row(f"  {name}", text)
    console.print(table, highlight=False, markup=False)
    say(console, *(f"note: {caution}" for caution in found.cautions), style="yellow")


def _lines(found: Forecast) -> Iterator[tuple[str, str]]:
    setup = found.setup
    federation, experiment = setup.federation, setup.experiment
    least, middle, most = found.sizes
    owned = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    if most > least + 1:
        owned += f" (half of them at most {middle:,})"
    yield (
        "data",
        f"{experiment.data.part}: {federation.num_users:,} users with {owned} examples each, "
        f"{len(federation.examples):,} in all; {len(federation.test or ()):,} for testing; "
        f"{federation.num_classes} classes",
    )
    yield "model", f"{experiment.model.part}, {found.parameters:,} parameters"
    if setup.weights is not None:
        yield "", str(setup.weights)
    yield "engine", found.engine
    yield "algorithm", f"{setup.algorithm.name}, {setup.algorithm.sampler}"
    yield "attack", _attack(found)
    yield "rounds", _rounds(found)
    yield "work", _work(found)
    for number, text in enumerate(_privacy(found)):
        yield "" if number else "privacy", text
    yield "time", _time(found)
    yield "disk", f"about {size(found.disk)}"


def print_sweep_forecast(console: Console, title: str, found: SweepForecast) -> None:
    """The first combination in full, all of them as a table, and what they cost together."""
    first, *others = found.combinations.items()
    print_forecast(console, f"{title}; its first combination, {first[0]}:", first[1])
    if others:
        guarantees = [each.spending.guarantee for each in found.combinations.values()]
        about = differing_columns(guarantees)
        rows = []
        for (name, each), *more in zip(found.combinations.items(), *about.values(), strict=True):
            own = each.spending.guarantee
            epsilon = round_up_digits(own.epsilon) if own.private else "none"
            rows.append((name, f"{each.rounds:,}", f"{each.jobs.asked:,.0f}", epsilon, *more))
        console.print(table_of(["combination", "rounds", "local trainings", "ε", *about], rows))
        say(console, *common_lines(guarantees))
    time = "time not estimated"
    if found.seconds is not None:
        low, high = map(duration, found.seconds)
        time = f"{low} to {high} (an estimate, without what is shared)"
    sweep = found.sweep
    say(
        console,
        f"{len(found.combinations):,} combinations, seeds {', '.join(map(str, sweep.seeds))}: "
        f"{len(sweep.points):,} trainings, {time}, about {size(found.disk)} of disk",
    )


def _attack(found: Forecast) -> str:
    staged, section = found.setup.attack, found.setup.experiment.attack
    if staged is None or section is None:
        return "nobody attacks"
    parts = ", ".join(part.part for part in (*section.data, *section.model))
    rounds = staged.adversary.rounds
    when = "every round" if rounds is None else many(len(rounds), "round")
    return (
        f"{len(staged.adversary.users):,} of {found.setup.federation.num_users:,} users, {parts}, in {when}; "
        f"they know {KNOWLEDGE[staged.adversary.knowledge]}"
    )


def _rounds(found: Forecast) -> str:
    wanted = found.setup.experiment.rounds
    if not found.spending.ended_by_budget:
        return f"{wanted:,}"
    budget = found.setup.experiment.privacy.budget
    if found.setup.algorithm.accounting == "users":
        return (
            f"{wanted:,}, but each user's budget of ε = {budget:g} ends training after {found.rounds:,} of "
            "them if somebody is drawn every time, and later if not"
        )
    return f"{wanted:,}, but the budget of ε = {budget:g} ends training after {found.rounds:,} of them"


def _work(found: Forecast) -> str:
    jobs = found.jobs
    each = f"about {jobs.cohort:,.4g} users in a round"
    if found.replicas is None:
        return f"{each}: about {jobs.asked:,.0f} local trainings"
    return (
        f"{each}, {found.replicas:,} replicas: about {jobs.asked:,.0f} local trainings, of which "
        f"{jobs.run:,.0f} are run and the others shared"
    )


def _privacy(found: Forecast) -> Iterator[str]:
    spent = found.spending
    yield str(spent.guarantee)
    for name, other in spent.others.items():
        if isinstance(other, Guarantee):
            # What is said of the experiment's own ε need not be said again.
            more = other.caveats if other.caveats != spent.guarantee.caveats else ""
            yield f"by {name}: ε = {epsilon_text(other.epsilon)}" + (f"; {more}" if more else "")
        else:
            yield f"by {name}: none, {other}"
    if spent.looks is not None:
        yield looks_alone(spent.looks)
    if found.replicas is not None and spent.guarantee.private:
        yield "this holds for one replica alone: all of them together spend more"


def _time(found: Forecast) -> str:
    if found.seconds is None or found.calibration is None:
        return "not estimated"
    low, high = map(duration, found.seconds)
    tried = f"{many(found.calibration.jobs, 'local training')} of {found.calibration.job:.3g} s"
    return f"{low} to {high} on {many(found.cores, 'core')}: an estimate, from {tried}"


def record(found: Forecast) -> dict[str, Any]:
    """The same for programs."""
    setup, spent = found.setup, found.spending
    federation, sizes = setup.federation, zip(("least", "median", "most"), found.sizes, strict=True)
    return {
        "data": {
            "name": setup.experiment.data.part,
            "users": federation.num_users,
            "examples": len(federation.examples),
            "examples_of_a_user": dict(sizes),
            "test_examples": len(federation.test or ()),
            "classes": federation.num_classes,
        },
        "model": {"name": setup.experiment.model.part, "parameters": found.parameters},
        "engine": found.engine,
        "algorithm": setup.algorithm.name,
        "sampling": str(setup.algorithm.sampler),
        "attackers": 0 if setup.attack is None else len(setup.attack.adversary.users),
        "replicas": found.replicas,
        "rounds": {
            "wanted": setup.experiment.rounds,
            "expected": found.rounds,
            "ended_by_budget": spent.ended_by_budget,
        },
        "cohort": found.jobs.cohort,
        "jobs": {"asked_for": found.jobs.asked, "run": found.jobs.run},
        "epsilon": spent.guarantee.epsilon if spent.guarantee.private else None,
        "guarantee": spent.guarantee.to_json(),
        "statement": str(spent.guarantee),
        "other_accountants": {
            name: other.to_json() if isinstance(other, Guarantee) else {"private": False, "reason": other}
            for name, other in spent.others.items()
        },
        "looks": None if spent.looks is None else spent.looks.to_json(),
        "notes": list(found.cautions),
        "seconds": _seconds(found.seconds),
        "calibration": None if found.calibration is None else asdict(found.calibration),
        "cores": found.cores,
        "disk_bytes": found.disk,
    }


def sweep_record(found: SweepForecast) -> dict[str, Any]:
    """The same of a sweep."""
    return {
        "trainings": len(found.sweep.points),
        "seeds": list(found.sweep.seeds),
        "combinations": {name: record(each) for name, each in found.combinations.items()},
        "seconds": _seconds(found.seconds),
        "disk_bytes": found.disk,
    }


def _seconds(between: tuple[float, float] | None) -> dict[str, float] | None:
    return None if between is None else dict(zip(("low", "high"), between, strict=True))
