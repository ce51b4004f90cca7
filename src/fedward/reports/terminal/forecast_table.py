"""The forecasts of an experiment and of a sweep, printed on the terminal or given to programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from fedward.attacks.attack import KNOWLEDGE
from fedward.certificates.beside_headline import ceiling_in_words
from fedward.forecast.forecast import Forecast, SweepForecast
from fedward.privacy import Guarantee
from fedward.privacy.rounding import round_up_digits
from fedward.reports.templates import lines
from fedward.reports.terminal.console import say
from fedward.reports.terminal.console import table as table_of
from fedward.reports.terminal.epsilon_about import common_lines, differing_columns
from fedward.rundir.server_looks import looks_alone


def print_forecast(console: Console, title: str, found: Forecast) -> None:
    """One line for each question that people have."""
    say(console, title, style="bold")
    looks = "" if found.spending.looks is None else looks_alone(found.spending.looks)
    rows = []
    ceiling = ceiling_in_words(found.ceilings)
    about = {"found": found, "knowledge": KNOWLEDGE, "looks": looks, "ceiling": ceiling}
    for line in lines("terminal/forecast.txt", **about):
        question, _, answer = line.partition("| ")
        rows.append((f"  {question.strip()}", answer))
    options = {"box": None, "show_header": False, "padding": (0, 1), "pad_edge": False}
    table = table_of(["", ""], rows, left=2, **options)
    table.columns[0].no_wrap = True
    console.print(table, highlight=False, markup=False)
    say(console, *(f"note: {caution}" for caution in found.cautions), style="yellow")


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
    say(console, *lines("terminal/sweep_forecast.txt", found=found))


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
        "ceilings": [asdict(each) for each in found.ceilings],
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
