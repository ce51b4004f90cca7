"""The picture of an arena: what each defence costs against what the worst attack on it achieves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fedward.privacy.rounding import round_up_digits
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.sketch import Panel, Sketch
from fedward.rundir.arena_record import ArenaRecord, Standing

Measure = Literal["worst_success", "worst_accuracy"]
_ACROSS = {
    "worst_success": "success of the worst attack (%)",
    "worst_accuracy": "accuracy under the worst attack (%)",
}

_TITLES = {measure: across.removesuffix(" (%)") for measure, across in _ACROSS.items()}


def draw_arena(record: ArenaRecord, style: str = "screen") -> Picture | None:
    """Accuracy while nobody attacks against the worst case, a mark for each defence; full where it has an ε.

    A panel for success and one for accuracy under attack, on each kind of data; None if there is neither.
    """
    charts: list[tuple[str, Measure, list[Standing]]] = []
    for data in record.about.data:
        own = [each for each in record.standings if each.data == data and each.accuracy is not None]
        for measure in _ACROSS:
            known = [each for each in own if getattr(each, measure) is not None]
            if known:
                charts.append((data, measure, known))  # type: ignore[arg-type]
    if not charts:
        return None
    numbers = {each.name: number for number, each in enumerate(record.about.defences)}
    titles = [", ".join(filter(None, (data, _TITLES[measure]))) for data, measure, _ in charts]
    height = max(4.4, 1.2 + 0.21 * len(numbers))
    sketch = Sketch(titles, (5.6, height), style, across=2)
    for panel, (_, measure, standings) in zip(sketch.panels, charts, strict=True):
        _fill(panel, measure, standings, numbers)
    # The same marks mean the same everywhere: they are explained once where that says all.
    alike = len({tuple(_name(each) for each in standings) for _, _, standings in charts}) == 1
    for panel in sketch.panels[-1:] if alike else sketch.panels:
        panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return sketch.picture(
        "full marks: the defence has an ε, stated beside its name; intervals of the worst case hold for "
        f"having chosen the attack; means over {len(record.about.seeds)} seeds"
    )


def _fill(panel: Panel, measure: Measure, standings: Sequence[Standing], numbers: dict[str, int]) -> None:
    for each in standings:
        accuracy, worst = each.accuracy, getattr(each, measure)
        assert accuracy is not None  # as chosen above
        panel.point(
            _name(each),
            (worst.value, worst.low, worst.high),
            (accuracy.value, accuracy.low, accuracy.high),
            number=numbers[each.defence],
            full=each.epsilon is not None,
        )
    panel.per_cent(x=True, y=True)
    panel.label(x=_ACROSS[measure], y="accuracy, no attack (%)")


def _name(standing: Standing) -> str:
    if standing.epsilon is None:
        return standing.defence
    return f"{standing.defence} (ε = {round_up_digits(standing.epsilon)})"
