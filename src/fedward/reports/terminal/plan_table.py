"""The frontier of a plan as a table on the terminal."""

from __future__ import annotations

from rich.table import Table

from fedward.certificates.planning import epsilon_bound
from fedward.forecast.plan import Plan
from fedward.privacy.rounding import round_up
from fedward.reports.plan_words import about
from fedward.reports.terminal.console import table as table_of


def plan_table(plan: Plan) -> Table:
    """One row for each number of rounds and sampling rate, with the least noise that does it."""
    known = any(each.shares is not None for each in plan.frontier)
    headings = ["T", "q", "z", "set by", "z/(qN)", "ε at most", "vote needed"]
    headings += ["certified"] if known else []
    taken = None if plan.recommendation is None else plan.recommendation.prospect.option.noise
    rows = []
    for each in plan.frontier:
        noise, needed = each.option.noise, each.option.needed
        row = [
            f"{'→ ' if noise == taken else ''}{noise.rounds}",
            f"{noise.sampling_rate:g}",
            f"{noise.noise_multiplier:g}",
            "ε" if each.option.limited_by == "epsilon" else each.option.limited_by,
            f"{noise.on_mean:.2g}",
            round_up(epsilon_bound(noise, plan.goal.own_delta), 3),
            "-" if needed is None else f"{needed:.3f}",
        ]
        if known:
            measured = "*" if each.evidence == "measured" else ""
            row.append("-" if each.shares is None else f"{each.shares.cautious:.0%}{measured}")
        rows.append(row)
    caption = f"ε of one training {about(plan.goal)}"
    if known:
        caption += f"; certified: against k = {plan.goal.k}, at least; * measured, others scaled from these"
    return table_of(headings, rows, left=0, caption=caption)
