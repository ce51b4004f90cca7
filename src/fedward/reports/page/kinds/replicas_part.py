"""The part of the page that is about many trainings of one experiment."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from fedward.privacy.guarantee import Unit
from fedward.reports.numbers import figure, many, percent
from fedward.reports.page.again.reproduce import recipe_of_replicas
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.page.charts.tables import Cell, Column, Table, numbers
from fedward.reports.page.kinds.part import Place, fill_part
from fedward.reports.page.words.guarantee_words import promise
from fedward.reports.terminal.certified_table import title
from fedward.rundir.run_record import ReplicasRecord

_PROMISES = 4


def replicas_part(run: ReplicasRecord, place: Place, certified: Markup | None) -> Markup:
    """Everything that the files of many trainings say, and what is certified about them.

    Args:
      place: where it stands on the page.
      certified: what is; None if nothing is, or if it stands elsewhere on the page.
    """
    certificates = run.certificates
    costs = [] if certificates else cost_charts(run, place.key)
    return fill_part(
        "page/kinds/replicas.html",
        run,
        next(iter(run.experiments.values())),
        place,
        recipe_of_replicas(run),
        promises=[
            (variant, promise(run.one_training(variant), seed=certificate.seed))
            for variant, certificate in list(certificates.items())[:_PROMISES]
        ],
        measured=_measured(run),
        charts=[chart.of_run(place.colour) for chart in costs if chart.drawn],
        certified=certified,
    )


def _measured(run: ReplicasRecord) -> Table | None:
    if run.result is None:
        return None
    rows = []
    for variant, values in run.result.variants.items():
        for measure, each in values.items():
            shown = figure if measure.startswith("cost") else percent
            between = "" if each.low is None else f"{shown(each.low)} to {shown(each.high)}"
            ends = Cell(shown(each.mean), each.mean), Cell(between, each.low)
            rows.append([Cell(variant), Cell(measure), *ends])
    columns = [Column("variant"), Column("measure"), *numbers("mean", "95 % interval of the mean")]
    return Table(caption=f"Measured over {many(run.replicas, 'training')} each", columns=columns, rows=rows)


def cost_charts(run: ReplicasRecord, key: str) -> Iterator[Chart]:
    """The measured cost of an attack beside its bounds, for each variant."""
    for number, (variant, costs) in enumerate((run.certified or {}).items()):
        if not isinstance(costs, dict) or "measured" not in costs:
            continue
        unit: Unit = costs["unit"]
        lines = [Line("measured", tuple((float(m["attackers"]), m["mean"]) for m in costs["measured"]))]
        for line in costs["lines"]:
            bound = tuple((float(k), float(least)) for k, least in enumerate(line["lower"]))
            lines.append(Line(f"least, {title(line['mode'], unit)}", bound))
        yield Chart(
            key=f"{key}-cost-{number}",
            title=f"Cost of the attack against attackers: {variant}",
            x="attackers" if unit == "user" else "poisoned examples",
            y=f"expected min(cost, {costs['cost_bound']:g})",
            lines=tuple(lines),
            notes=(
                "An attacker wants the cost small; no attack by so many can bring its expectation "
                "below the bound. The bound as in the paper takes the average for the expectation, and "
                "one ε for the whole curve.",
            ),
        )
