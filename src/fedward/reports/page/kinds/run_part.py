"""The part of the page that is about one training."""

from __future__ import annotations

import math

from markupsafe import Markup

from fedward.privacy.remembered import guarantees_of
from fedward.reports.numbers import at_most_figure
from fedward.reports.page.again.reproduce import recipe_of_run
from fedward.reports.page.charts.run_charts import run_charts
from fedward.reports.page.charts.tables import Cell, Table, numbers
from fedward.reports.page.examples.triggered import Triggered
from fedward.reports.page.kinds.part import Place, fill_part
from fedward.reports.page.words.guarantee_words import Promise, promise
from fedward.reports.terminal.run_table import details
from fedward.rundir.run_record import RunRecord

_ROWS = 12


def run_part(run: RunRecord, place: Place, shown: Triggered, devices: int = 1) -> Markup:
    """Everything that the files of a run say, and how the attackers' triggers look.

    Args:
      place: where it stands on the page.
      shown: what its attack does to examples.
      devices: how many users one person may be; with more than one it says what such a person is promised.
    """
    guarantee, result = run.guarantee(), run.result
    seed = int(run.experiment["seed"])
    return fill_part(
        "page/kinds/run.html",
        run,
        run.experiment,
        place,
        recipe_of_run(run),
        guarantee=guarantee,
        promise=None if guarantee is None else promise(guarantee, seed=seed, finished=run.finished),
        person=_person(run, seed, devices),
        details=() if result is None else details(result),
        charts=[chart.of_run(place.colour) for chart in run_charts(run, place.key) if chart.drawn],
        users_table=_users(run),
        triggers=shown.triggers,
        no_triggers=shown.why,
    )


def _person(run: RunRecord, seed: int, devices: int) -> Promise | None:
    """What is promised to a person who is several users; None if nobody asked."""
    guarantee = None if devices == 1 else run.guarantee(devices)
    return None if guarantee is None else promise(guarantee, seed=seed, finished=run.finished)


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
