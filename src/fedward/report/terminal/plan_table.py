"""A plan as a table on the terminal and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.table import Table

from fedward.base.durable_files import explain_write_errors
from fedward.base.validate import InvalidValue
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import ACCOUNTANT, ADJACENCY, NO_ACCURACY, UNIT, Option
from fedward.privacy.guarantee import ACCOUNTANT_LABELS
from fedward.privacy.rounding import round_up
from fedward.report.pictures.picture import label, panels
from fedward.report.terminal.console import table as table_of

_TYPES = (".png", ".svg", ".pdf")


def in_words(goal: Goal) -> str:
    """What was asked for.

    >>> in_words(Goal(users=200, k=10, top=0.8, runner_up=0.1, epsilon=2.0, delta=1e-3))
    'k = 10 (inject) of 200 users, at confidence 0.8 against 0.1, within ε = 2 at δ = 0.001 (user level, \
add/remove, pld accountant)'
    """
    if isinstance(goal.top, np.ndarray):
        at = f"for {goal.share:.0%} of {goal.top.size:,} test examples at their stored scores"
    else:
        at = f"at confidence {goal.top:g} against {goal.runner_up:g}"
    within = f", within ε = {goal.epsilon:g} {_about(goal)}" if goal.epsilon is not None else ""
    return f"k = {goal.k} ({goal.threat}) of {goal.users:,} users, {at}{within}"


def _about(goal: Goal) -> str:
    """What an ε of the plan is about."""
    return f"at δ = {goal.delta:g} ({UNIT} level, {ADJACENCY}, {ACCOUNTANT_LABELS[ACCOUNTANT]})"


def table(goal: Goal, options: Sequence[Option]) -> Table:
    """One row for each sampling rate and number of rounds, with every noise that does it."""
    budget = goal.delta is not None
    headings = ["rounds T", "rate q", "cohort qN", "noise z", "least z/(qN)"]
    rows = []
    for (rounds, rate), group in groupby(options, key=lambda option: (option.rounds, option.sampling_rate)):
        least, *more = group
        noises = ", ".join(f"{option.noise_multiplier:g}" for option in (least, *more))
        row = [str(rounds), f"{rate:g}", f"{least.cohort:g}", noises, f"{least.noise_on_mean:.3g}"]
        if budget:
            row.append("above 200" if least.epsilon is None else round_up(least.epsilon, 3))
        rows.append(row)
    if not budget:
        return table_of(headings, rows, left=0)
    caption = f"ε of one training {_about(goal)}"
    return table_of([*headings, "ε at the least z"], rows, left=0, caption=caption)


def picture_file(path: Path) -> Path:
    """Returns a path that a picture can be written to."""
    if path.suffix not in _TYPES:
        raise InvalidValue(f"picture must end in {', '.join(_TYPES)}, got {path.name!r}")
    if not path.parent.is_dir():
        raise InvalidValue(f"picture must lie in a directory that exists, got {str(path)!r}")
    return path


def picture(goal: Goal, options: Sequence[Option], path: Path) -> None:
    """The least noise that certifies the goal against the sampling rate, one line for each number of rounds.

    Every noise on or above a line does it.
    """
    picture_file(path)
    if not options:
        raise InvalidValue("there is nothing to draw: no training on the grid certifies this")
    figure, ((panel,),) = panels(1, 1, (7.5, 5))
    lengths = sorted({option.rounds for option in options})
    for i, rounds in enumerate(lengths):
        least: dict[float, float] = {}
        for option in options:
            if option.rounds == rounds:
                least.setdefault(option.sampling_rate, option.noise_multiplier)
        shade = 0.85 - 0.85 * i / max(1, len(lengths) - 1)
        colour = (0.1, shade, 0.9 - 0.4 * shade)
        panel.plot(list(least), list(least.values()), "o-", label=f"T = {rounds}", color=colour)
    panel.set_xscale("log")
    panel.set_yscale("log")
    for axis, ticks in (
        (panel.xaxis, sorted({option.sampling_rate for option in options})),
        (panel.yaxis, sorted({option.noise_multiplier for option in options})),
    ):
        axis.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    noise = "least noise multiplier z; every larger one does it too"
    label(panel, x="sampling rate q", y=noise, title=in_words(goal), legend=0)
    panel.legend(title="rounds")
    figure.supxlabel(NO_ACCURACY, fontsize=7)
    # Without a date the same plan gives the same file.
    with explain_write_errors(path):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
