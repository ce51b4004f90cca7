"""Tables of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from fedward.privacy.rounding import round_up_digits
from fedward.reports.terminal.console import table as table_of
from fedward.rundir.catalogue.facts import Fact, RunFacts

ABOUT_EPSILON = (
    "ε is about one run alone, for the δ, unit, adjacency and noise that its own statement names "
    "(fedward runs --json, fedward report); to release several, or the best of them, spends more"
)
# Two runs always differ in when they were begun.
_CIRCUMSTANCES = "environment."


def listing(runs: Sequence[RunFacts], folder: Path, more: tuple[str, ...] = ()) -> Table:
    """One line a run: what it is, how far it is, what came out."""
    attacked = any("attack_success" in run.facts for run in runs)
    headings = ["run", "", "data", "model", "algorithm", "rounds", "accuracy"]
    headings += [*(["attack success"] if attacked else []), "ε", *(key.rpartition(".")[2] for key in more)]
    rows = []
    for run in runs:
        facts = run.facts
        state = run.kind if run.state == "finished" else f"{run.kind}, {run.state}"
        row = [str(run.path.relative_to(folder)), state]
        row += [str(facts.get(key, "-")) for key in ("data.name", "model.name", "algorithm.preset")]
        row += [_rounds(run), _percent(facts.get("accuracy"))]
        row += [_percent(facts.get("attack_success"))] if attacked else []
        rows.append([*row, _epsilon(run), *(_number(run.known.get(key)) for key in more)])
    table = table_of(headings, rows, left=5, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in table.columns:
        column.overflow = "fold"  # half of a name or a number is worse than two lines
    return table


def differences(runs: Sequence[RunFacts], *, every: bool = False) -> dict[str, list[Fact | None]]:
    """The facts that are not the same in all runs, in the order of the experiment file."""
    keys = dict.fromkeys(key for run in runs for key in run.facts)
    found = {key: [run.facts.get(key) for run in runs] for key in keys}
    return {
        key: values
        for key, values in found.items()
        if every or (not key.startswith(_CIRCUMSTANCES) and any(value != values[0] for value in values))
    }


def comparison(runs: Sequence[RunFacts], differing: dict[str, list[Fact | None]]) -> Table:
    """A row a fact, a column a run."""
    rows = ([key, *(_fact(key, value) for value in values)] for key, values in differing.items())
    headings = ["", *(run.path.name for run in runs)]
    return table_of(headings, rows, left=len(headings), box=box.SIMPLE_HEAD)


def _rounds(run: RunFacts) -> str:
    if run.kind == "replicas":
        return f"{run.facts.get('replicas', '-')} replicas"
    if "trainings" in run.facts:
        return f"{run.facts['trainings']} trainings"
    done = str(run.facts.get("rounds", "-"))
    return f"{done} of {run.facts['planned_rounds']}" if "planned_rounds" in run.facts else done


def _epsilon(run: RunFacts) -> str:
    so_far = " so far" if run.state == "unfinished" and "epsilon" in run.facts else ""
    return f"{_fact('epsilon', run.facts.get('epsilon'))}{so_far}"


def _percent(value: Fact | None) -> str:
    return f"{value:.2%}" if isinstance(value, float) else "-"


def _fact(key: str, value: Fact | None) -> str:
    """A fact as people read it: what a promise may not exceed is rounded up."""
    if isinstance(value, float) and key.rpartition(".")[2] in ("epsilon", "delta"):
        return round_up_digits(value)
    return _number(value)


def _number(value: Fact | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
