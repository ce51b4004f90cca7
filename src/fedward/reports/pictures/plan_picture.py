"""The frontier of a plan as a picture: what is certified, or the noise, against the sampling rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.certificates.recommendation import Prospect
from fedward.forecast.plan import Plan
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.sketch import Sketch
from fedward.reports.plan_words import goal_in_words

_RING: dict[str, Any] = {"marker": "o", "markersize": 13, "fillstyle": "none", "color": "C3", "linestyle": ""}


def picture(plan: Plan, style: str = "screen") -> Picture:
    """One line for each number of rounds; the answer has a ring.

    On the left what is certified by the pilot, where there is one; on the right the least noise.
    """
    if not plan.frontier:
        raise InvalidValue("there is nothing to draw: no training that was tried meets ε and k")
    known = any(each.shares is not None for each in plan.frontier)
    certified = f"right and certified against k = {plan.goal.k}, at least"
    charts = [*([certified] if known else []), "least noise multiplier z"]
    sketch = Sketch(charts, (5.4, 4.2), style)
    *first, second = sketch.panels
    for number, rounds in enumerate(sorted({each.option.noise.rounds for each in plan.frontier})):
        own = [each for each in plan.frontier if each.option.noise.rounds == rounds]
        told = [each for each in own if each.shares is not None]
        for panel in first:
            panel.line(f"T = {rounds}", _rates(told), [_share(each) for each in told], number=number)
        second.line(f"T = {rounds}", _rates(own), [_noise(each) for each in own], number=number)
    if plan.recommendation is not None:
        answer = plan.recommendation.prospect
        # All of the frontier is predicted for as many replicas: with those of the answer it is a little less.
        taken = next((each for each in plan.frontier if each.option == answer.option), answer)
        for panel in first if taken.shares is not None else ():
            panel.line("the answer", _rates([taken]), [_share(taken)], **_RING)
        second.line("the answer", _rates([taken]), [_noise(taken)], **_RING)
    for panel in first:
        panel.axes.axhline(plan.goal.share, color="0.5", linewidth=0.8, linestyle="--")
        panel.axes.set_ylim(0, 1.02)
    second.axes.set_yscale("log")
    for panel in sketch.panels:
        panel.axes.set_xscale("log")
        panel.label(x="sampling rate q", y="share of the test examples" if panel in first else "z")
        panel.legend()
    words = goal_in_words(plan.goal)
    sketch.foot(words)
    return sketch.picture(words)


def _noise(prospect: Prospect) -> float:
    return prospect.option.noise.noise_multiplier


def _rates(found: Sequence[Prospect]) -> list[float]:
    return [each.option.noise.sampling_rate for each in found]


def _share(prospect: Prospect) -> float:
    return 0.0 if prospect.shares is None else prospect.shares.cautious
