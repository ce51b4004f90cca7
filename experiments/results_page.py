"""Writes docs/results.md: every table and figure of the papers, the paper's number beside ours.

    python experiments/results_page.py [--check]

All measured numbers come from the records in the folders of the experiments, or are computed. ``--check``
writes nothing and fails if the page is not what the records make it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from results_sections import attack_cost, miao, others, xie
from results_sections.item import Item

from support import markdown

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
INTRODUCTION = """\
<!-- Written by experiments/results_page.py: change that, or the records in experiments/, not this page. -->
# Results beside the papers'

Every table and figure of the papers behind fedward: what the paper prints, what came out here, of how many
seeds or replicas, and whether it is reproduced. Two CPU cores were all there was, so sizes differ: each line
says what was run, and where full size is out of reach, what that would take. How each experiment was done,
what was cut and what was chosen after a first look stands on its own page, under *where*.

"±" and "to" are Student's 95 % intervals of a mean over seeds or replicas; a mean of one seed has none. M
counts replicas: whole trainings of one initial model that differ in sampling and noise. ε by `moments` is
the papers' own accounting; `pld` and `rdp` are [tighter, or proven for what was run](privacy.md). Accuracy
and success are in percent.

The papers in full: [references](references.md).
"""


def overview(items: list[Item]) -> list[str]:
    rows = [(item.link, item.about, item.size, item.verdict, item.where) for item in items]
    return markdown(("", "about", "size here; full size", "reproduced?", "where"), rows)


def page() -> str:
    """The whole page."""
    papers = {
        "Xie et al.: certified robustness": xie.items() + attack_cost.items(),
        "Miao et al.: clip norm decay": miao.items(),
        "Naseri et al.: central and local DP": others.naseri(),
        "A study of clip sizes under local DP": others.clip_sizes(),
    }
    lines = [INTRODUCTION]
    for paper, items in papers.items():
        lines += [f"## {paper}", "", *overview(items), ""]
    missing = [(item.name, item.about, item.size) for item in others.not_tried()]
    lines += ["## Not tried", "", *markdown(("", "about", "what it would take, or why not"), missing), ""]
    lines += ["## What no paper has", "", *others.own(), ""]
    for paper, items in papers.items():
        lines += [f"## The numbers: {paper[0].lower()}{paper[1:].partition(':')[0]}", ""]
        for item in items:
            if item.lines:
                lines += [f"### {item.heading}", "", *item.lines, "", item.closing, ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    made = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf8")
    elif PAGE.read_text(encoding="utf8") != made:
        sys.exit(f"{PAGE.name} is not what the records make it: run python experiments/results_page.py")
