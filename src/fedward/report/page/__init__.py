"""One self-contained HTML page about runs: it opens offline and asks no server for anything.

words.py        what is guaranteed and certified, for people who know no mathematics
spending.py     ε over rounds, by each accountant
chart.py        lines over a scale as SVG that follows light, dark and paper
tables.py       tables that scripts sort and screen readers read
png.py          examples as pictures
examples.py     the data of a run, where it can be loaded
triggered.py    what attackers do to an example, and what the model says to it
experiment_text.py, reproduce.py   the file and the command that a run can be repeated with
one_run.py, replicas.py, certified.py, inference.py, comparison.py   the parts of the page
page.py         the page; page.html, page.css and page.js are what it is made of
"""

from __future__ import annotations

from fedward.report.page.page import render, write

__all__ = ["render", "write"]
