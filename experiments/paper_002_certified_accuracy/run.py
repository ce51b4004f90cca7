"""Figures 1(a), 1(c), 7(a) and 14 of paper 002: certified accuracy on MNIST 0/1.

    python experiments/paper_002_certified_accuracy/run.py users    --data DIR [--replicas 1000]
    python experiments/paper_002_certified_accuracy/run.py examples --data DIR [--replicas 1000] [--small]
    python experiments/paper_002_certified_accuracy/run.py clipping --data DIR [--replicas 1000]

Trainings are kept in runs/ and gone on with after a kill; what was found is kept beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import Record, certified, fedward, keep, options, varied
from clipping_variants import compare
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
USERS = (0.5, 0.6, 0.8, 1.0, 1.5, 1.8, 2.3, 3.0)
EXAMPLES = (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 15.0)
SMALL = (1.0, 3.0, 5.0, 10.0)
CLIPS = ("flat", "per-layer", "median", "per-layer-median")
MODES = ("paper", "inject", "present", "compromise")


def largest(found: Record) -> Table:
    """The largest k at which certified accuracy is at least so much, with confidence and without."""
    table = Table("variant", "ε, paper", "ε", "at least", *MODES)
    for name, each in found.items():
        for share in ("0.5", "0.8", "0.9"):
            cells = []
            for mode in MODES:
                curves = [curve for curve in each["curves"] if curve["mode"] == mode]
                curves.sort(key=lambda curve: not curve["with_confidence"])
                ks = [curve["largest_k_at"][share] for curve in curves]
                cells.append(" / ".join("-" if k is None else str(k) for k in ks))
            papers = "-" if each["papers_epsilon"] is None else f"{each['papers_epsilon']:.4f}"
            tight = "-" if each["epsilon"] is None else f"{each['epsilon']:.4f}"
            table.add_row(name, papers, tight, f"{float(share):.0%}", *cells)
    return table


if __name__ == "__main__":
    figure = sys.argv.pop(1) if sys.argv[1:2] in (["users"], ["examples"], ["clipping"]) else ""
    chosen = options(__doc__, replicas=1000)
    if not figure:
        sys.exit("say which: users, examples or clipping")
    file = HERE / f"{figure}.toml"
    if figure == "clipping":
        axes = (*varied("algorithm.clip", CLIPS), *varied("algorithm.noise_multiplier", (2.3, 1.15)))
        run = fedward("replicas", file, chosen, "paper-002-clipping", *axes)
        found = compare(run, HERE, chosen.data)
    else:
        local = "" if figure == "users" else "local."
        axes = varied(
            f"algorithm.{local}noise_multiplier",
            USERS if figure == "users" else SMALL if chosen.small else EXAMPLES,
        )
        run = fedward("certify", file, chosen, f"paper-002-{figure}", *axes)
        keep(run, {"certified.json": f"{figure}.json", "certified_accuracy.png": f"{figure}.png"}, HERE)
        found = certified(run)
    Console(width=120).print(largest(found))
