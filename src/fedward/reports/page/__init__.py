"""One self-contained HTML page about runs: it opens offline and asks no server for anything.

page.py fills the template of a page with what page_content.py puts together. Each subject has a sub-package:
``findings`` for what is said first, and for runs side by side, ``kinds`` for the part of each kind of run,
``certified`` for certificates, ``charts`` for curves and tables, ``examples`` for pictures of data, ``words``
for sentences to people who know no mathematics, ``again`` for how to repeat a run, and ``look`` for style,
scripts and pieces of markup. What is said, and how it is laid out, is in the templates beside the modules.
"""

from __future__ import annotations

from fedward.reports.page.page import render, write

__all__ = ["render", "write"]
