"""The sentences, the table and the picture of a plan say what its numbers say."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fedward.base.validate import InvalidValue
from fedward.certificates.pilot import Pilot
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import option
from fedward.certificates.recommendation import choose, judge, recommend
from fedward.forecast.plan import Plan
from fedward.reports.pictures.plan_picture import picture
from fedward.reports.plan_words import NOT_COVERED, certify_arguments, plan_in_words
from fedward.reports.terminal.plan_table import plan_table

GOAL = Goal(users=1000, k=3, epsilon=2.0, classes=5)


def made(firmness: Any = None, **changes: Any) -> Plan:
    """A plan of two sampling rates, with a pilot of so firm examples or without one."""
    goal = replace(GOAL, **changes)
    found = [each for q in (0.1, 1.0) if (each := option(goal, q, 10)) is not None]
    pilot = None
    if firmness is not None:
        values = np.asarray(firmness, dtype=np.float64)
        pilot = Pilot(
            noise=found[0].noise, expected=values, cautious=values, replicas=16, classes=5, origin="file"
        )
    prospects = [judge(goal, each, pilot) for each in found]
    chosen = choose(prospects)
    assert chosen is not None
    return Plan(
        goal=goal,
        recommendation=recommend(goal, chosen, pilot),
        frontier=tuple(prospects),
        tried=2,
        pilot=pilot,
        seconds=(60.0, 180.0),
        clip_bound=0.5,
    )


def test_the_answer_is_first_and_has_every_number() -> None:
    plan = made(np.linspace(0, 5, 100))
    answer = plan.recommendation
    assert answer is not None
    noise = answer.prospect.option.noise
    first, spends, expect, time, why, evidence, last = plan_in_words(plan)
    assert first.startswith(f"Take noise multiplier z = {noise.noise_multiplier:g}, sampling rate q = ")
    for part in (f"T = {noise.rounds} rounds", "clip bound S = 0.5", f"M = {answer.replicas:,} replicas"):
        assert part in first
    assert f"all {answer.replicas:,}: releasing it spends ε = " in spends
    assert f"nothing above k = {answer.ceiling} can be certified" in expect
    assert answer.prospect.shares is not None
    assert f"at least {answer.prospect.shares.cautious:.0%} of the test examples" in expect
    assert "60 s to 3 min" in time
    assert why.startswith("Why: ")
    assert evidence.startswith("Accuracy was")
    assert last == NOT_COVERED


def test_a_share_that_is_too_small_is_said() -> None:
    told = " ".join(plan_in_words(made([-1.0] * 9 + [8.0])))
    assert "less than the share of 50% that is wanted" in told


def test_without_a_pilot_nothing_is_expected() -> None:
    told = " ".join(plan_in_words(made()))
    assert "Expect at least" not in told
    assert "Accuracy is unknown" in told
    assert NOT_COVERED not in told


def test_the_arguments_are_those_of_certify_and_say_what_is_not_usual() -> None:
    arguments = certify_arguments(made())
    assert shlex.split(shlex.join(arguments)) == list(arguments)
    assert arguments[-4:] == ("--score", "vote", "--threat", "inject")
    special = certify_arguments(made(attendance="every-round", error=0.05, threat="present", k=1))
    assert special[-4:] == ("--attendance", "every-round", "--error", "0.05")
    assert certify_arguments(replace(made(), recommendation=None)) == ()


def test_the_table_marks_the_answer_and_what_was_measured() -> None:
    console = Console(width=120, record=True, quiet=True)
    plan = made([-1.0, 0.1, 0.2])
    with console.capture() as shown:
        console.quiet = False
        console.print(plan_table(plan))
    rows = [line for line in shown.get().splitlines() if re.match(r"│", line)]
    assert len(rows) == len(plan.frontier) == 2
    assert sum("→" in row for row in rows) == 1
    assert sum("*" in row for row in rows) == 1


def test_the_picture_has_a_line_for_each_length_and_a_ring_around_the_answer() -> None:
    both = picture(made(np.linspace(0, 5, 100))).figure.axes
    assert len(both) == 2
    assert [axis.get_ylabel() for axis in both] == ["share of the test examples", "z"]
    (alone,) = picture(made()).figure.axes
    line, ring = alone.lines
    assert len(np.asarray(line.get_xdata())) == 2
    assert len(np.asarray(ring.get_xdata())) == 1
    with pytest.raises(InvalidValue, match="nothing to draw"):
        picture(replace(made(), frontier=()))
