"""One self-contained HTML page about runs: it opens offline and asks no server for anything.

page.py puts the parts of a page into its template: one of run_part.py, replicas_part.py or inference_part.py
for each run, and comparison.py for all of them. What they say, and how it is laid out, is in the templates
beside them: part.html is what all kinds of runs have in common. Files that end in words speak to people who
know no mathematics.
"""

from __future__ import annotations

from fedward.reports.page.page import render, write

__all__ = ["render", "write"]
