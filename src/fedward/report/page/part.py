"""The fields that every part of the page has, whatever kind of run it is about."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.report.page.chart import Chart
from fedward.report.page.facts import Fact
from fedward.report.page.reproduce import Recipe


@dataclass(frozen=True, kw_only=True)
class Part:
    """Args:
    key: its id in the page.
    name: what the page calls it.
    path: its run directory.
    state: how far it is, in words.
    finished: whether that is to the end.
    summary: what was run, in a sentence.
    facts: seeds, versions and the like.
    charts: its curves.
    recipe: how to do it again.
    """

    key: str
    name: str
    path: str
    state: str
    finished: bool
    summary: str
    facts: tuple[Fact, ...]
    charts: tuple[Chart, ...]
    recipe: Recipe
