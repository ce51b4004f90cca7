"""The part of the page that is about what a training gives away."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from markupsafe import Markup

from fedward.attacks.inference import RATES
from fedward.attacks.inference.auc import Floats
from fedward.reports.numbers import at_most, percent
from fedward.reports.page.again.reproduce import recipe_of_inference
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.page.charts.tables import Cell, Column, Table, numbers
from fedward.reports.page.kinds.part import Place, fill_part
from fedward.reports.page.words.guarantee_words import promise
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.results import IntervalRecord

_ALLOWED = "most that privacy allows"
# With so few negatives that even one of them is this share, there is nothing to see at low rates.
_FEW = 0.05


def inference_part(run: InferenceRecord, place: Place) -> Markup:
    """Everything that the files of ``fedward infer`` say."""
    guarantee = run.guarantee()
    return fill_part(
        "page/kinds/inference.html",
        run,
        run.experiment,
        place,
        recipe_of_inference(run),
        asked=_attack(run),
        table=_table(run) if run.finished else None,
        charts=[chart.of_run(place.colour) for chart in inference_charts(run, place.key)],
        promise=None if guarantee is None else promise(guarantee, seed=int(run.experiment["seed"])),
    )


def _attack(run: InferenceRecord) -> str:
    own = ", ".join(
        f"{key.replace('_', ' ')} {value}"
        for key, value in run.about.items()
        if key not in ("kind", "property") and value is not None
    )
    return f"{run.kind} ({own})" if own else run.kind


def _table(run: InferenceRecord) -> Table:
    assert run.result is not None
    limit = run.result.limit
    columns = [Column("attack"), *numbers("AUC", "advantage")]
    columns += numbers(*(f"found at {percent(rate)} false alarms" for rate in RATES))
    rows = []
    for name, found in run.attacks.items():
        cells = [Cell(name), _interval(found.auc), Cell(percent(found.advantage), found.advantage)]
        points = [found.tpr_at_fpr.get(f"{rate:g}") for rate in RATES]
        rows.append([*cells, *(Cell("-") if each is None else _interval(each.tpr) for each in points)])
    if limit.auc is not None and limit.tpr_at_fpr is not None:
        most = [limit.tpr_at_fpr[f"{rate:g}"] for rate in RATES]
        curve = run.curves.limit
        best = None if curve is None else float((curve[1] - curve[0]).max())
        allowed = [limit.auc, best, *most]
        rows.append(
            [Cell(_ALLOWED), *(Cell("" if each is None else at_most(each), each) for each in allowed)]
        )
    return Table(caption="What each attack found, with 95 % intervals", columns=columns, rows=rows)


def _interval(found: IntervalRecord) -> Cell:
    value, low, high = map(percent, (found.value, found.low, found.high))
    return Cell(f"{value} ({low} to {high})", found.value)


def inference_charts(run: InferenceRecord, key: str) -> Iterator[Chart]:
    """The ROC curves over all false positive rates, and where false alarms are few."""
    if not run.curves.attacks:
        return
    roc = partial(Chart, x="wrongly accused", y="found", percent=True, rest=0.1)
    bolder = (
        "Every attack can be made bolder or more careful: further right it accuses more, rightly and "
        "wrongly. The higher the curve, the better the attack; the area under it is the AUC. "
        "Nothing can lie above what privacy allows, but for chance."
    )
    title, lines = "Who is found, against who is accused wrongly", _lines(run, np.linspace(0.0, 1.0, 101))
    yield roc(key=f"{key}-roc", title=title, across="share", lines=tuple(lines), notes=(bolder,))
    least = 1 / max(found.negatives for found in run.attacks.values())
    if least < _FEW:
        yield roc(
            key=f"{key}-careful",
            title="The same where false alarms are few",
            log=True,
            across="small share",
            lines=tuple(_lines(run, np.geomspace(least, 1.0, 81))),
            notes=(
                "Both axes are logarithmic. An attack that is sure about a few and knows nothing of the "
                "others shows here, and hardly in the AUC.",
            ),
        )


def _lines(run: InferenceRecord, rates: Floats) -> Iterator[Line]:
    """Every curve at the same false positive rates; 0 has no place on a logarithmic scale."""
    for name, (fpr, tpr) in run.curves.attacks.items():
        # Between two thresholds an attack finds what it finds at the more careful one.
        heights = tpr[np.searchsorted(fpr, rates * (1 + 1e-12), side="right") - 1]
        points = zip(rates.tolist(), heights.tolist(), strict=True)
        yield Line(name, tuple((x, y) for x, y in points if y > 0 or rates[0] == 0))
    if run.curves.limit is not None:
        fpr, tpr = run.curves.limit
        # Never drawn lower than it is.
        places = np.searchsorted(fpr, rates * (1 - 1e-12)).clip(max=len(fpr) - 1)
        points = zip(rates.tolist(), tpr[places].tolist(), strict=True)
        yield Line(_ALLOWED, tuple(points), reference=True)
    yield Line("by guessing", tuple((x, x) for x in rates.tolist()), reference=True)
