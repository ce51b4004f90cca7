"""The part of the page that is about one training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee
from fedward.privacy.remembered import guarantees_of
from fedward.report.numbers import at_most_figure, figure, many, percent
from fedward.report.page.example_looks import Library
from fedward.report.page.guarantee_words import Promise, promise
from fedward.report.page.part import Fact, Part, about
from fedward.report.page.reproduce import recipe_of_run
from fedward.report.page.run_charts import run_charts
from fedward.report.page.tables import Cell, Table, numbers
from fedward.report.page.triggered import Trigger, triggers
from fedward.rundir.results import TrainingResult
from fedward.rundir.run_record import RunRecord

_ROWS = 12


@dataclass(frozen=True, kw_only=True)
class RunPart(Part):
    """One training, as the page shows it.

    ``triggers`` is empty where nobody poisons data, and then ``no_triggers`` says why.
    """

    headline: tuple[Fact, ...]
    promise: Promise | None
    details: tuple[str, ...]
    notes: tuple[str, ...]
    users: Table | None
    triggers: tuple[Trigger, ...]
    no_triggers: str


def run_part(run: RunRecord, key: str, name: str, library: Library) -> RunPart:
    """Reads everything off a run that its part of the page shows."""
    guarantee, result = run.guarantee(), run.result
    seed = int(run.experiment["seed"])
    found, why = _triggers(run, library)
    return RunPart(
        about=about(run, run.experiment, key, name, _state(run)),
        headline=tuple(_headline(run, guarantee)),
        promise=None if guarantee is None else promise(guarantee, seed=seed, finished=run.finished),
        details=() if result is None else (*result.shares, *filter(None, _details(result))),
        notes=() if result is None else tuple(_notes(result)),
        charts=tuple(chart for chart in run_charts(run, key) if chart.drawn),
        users=_users(run),
        triggers=found,
        no_triggers=why,
        recipe=recipe_of_run(run),
    )


def _state(run: RunRecord) -> str:
    planned = many(int(run.experiment["rounds"]), "round")
    if run.result is None:
        return f"not finished: {run.rounds} of {planned}, and what was measured until then"
    if run.result.stopped_by_budget:
        return f"finished: the privacy budget ended it after {run.rounds} of {planned}"
    return f"finished: {many(run.rounds, 'round')}"


def _headline(run: RunRecord, guarantee: Guarantee | None) -> Iterator[Fact]:
    if run.last.accuracy is not None:
        yield "accuracy", percent(run.last.accuracy)
    if run.last.attack_success is not None:
        yield "attack success", percent(run.last.attack_success)
    if guarantee is not None and guarantee.private:
        yield f"ε at δ = {at_most_figure(guarantee.delta)}", at_most_figure(guarantee.epsilon)
    elif guarantee is not None:
        yield "ε", "no guarantee"
    yield "rounds", f"{run.rounds} of {run.experiment['rounds']}"


def _details(result: TrainingResult) -> tuple[str, ...]:
    return result.each_user, result.looks, result.papers_claim_statement


def _notes(result: TrainingResult) -> Iterator[str]:
    if result.rejected_updates:
        yield f"{many(result.rejected_updates, 'update')} were not finite or malformed, and were rejected."
    if kept := result.kept_rounds:
        first = f"round {kept[0].round + 1}: {kept[0].why}"
        yield f"{many(len(kept), 'round')} left the model as it was; the first, {first}."
    for name, attack in result.attacks.items():
        yield (
            f"{name}: {percent(attack.success)} of {many(attack.examples, 'triggered test example')} "
            f"went where the attackers wanted them; the model's loss on them, which attackers want low, is "
            f"{figure(attack.cost)}."
        )
    yield from result.notes


def _users(run: RunRecord) -> Table | None:
    """How many users have spent how much, where users protect themselves."""
    delta, accountant = run.manifest.delta, run.manifest.accountant
    if run.users is None or delta is None or accountant is None:
        return None
    found = list(guarantees_of(run.users, delta, accountant).histogram())
    step = -(-len(found) // _ROWS)
    rows = []
    for start in range(0, len(found), step):
        some = found[start : start + step]
        first, last = some[0][0], some[-1][0]
        label = " to ".join(map(at_most_figure, dict.fromkeys((first, last))))
        count = sum(users for _, users in some)
        rows.append([Cell(label, first if math.isfinite(first) else None), Cell(f"{count:,}", count)])
    caption = "What each user has spent on its own device"
    return Table(caption=caption, columns=numbers("ε", "users"), rows=rows)


def _triggers(run: RunRecord, library: Library) -> tuple[tuple[Trigger, ...], str]:
    attack = run.experiment.get("attack")
    if not attack:
        return (), ""
    if not attack.get("data"):
        return (), "The attackers poison their updates, not their data: there are no triggered examples."
    try:
        digest = str(run.manifest.data.digest)
        model = run.path / "model.pt" if run.finished else None
        return triggers(run.experiment, digest, model, library), ""
    except InvalidValue as error:
        return (), f"No examples can be shown: {error}."
