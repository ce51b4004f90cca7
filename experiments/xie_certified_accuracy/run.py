"""Certified accuracy in Xie et al., on MNIST 0/1 and on the airplanes and birds of CIFAR-10.

    python experiments/xie_certified_accuracy/run.py FIGURE --data DIR [--start FILE] [--small]

FIGURE is users (1(a), 7(a)), examples (1(c)), clipping (14), cifar_users (1(b)), cifar_examples (1(d)) or
cifar_clipping (15). --small is every second noise level of figure 1. Trainings are kept in runs/ and gone on
with after a kill; what was found is put into --out, and beside this file by --publish. CIFAR-10 starts
from weights/cifar100.pt, which is made first where it is missing; with --start from the authors' own weights,
whose records have names of their own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import Record, accuracies, certified, fedward, keep, options, varied
from cifar_start import add_start_option, start_weights
from clipping_variants import CLIPS, compare
from rich.console import Console
from rich.table import Table

from published import place_of

HERE = Path(__file__).parent
NOISE = {
    "users": (0.5, 0.6, 0.8, 1.0, 1.5, 1.8, 2.3, 3.0),
    "examples": (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 15.0),
    "cifar_examples": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
    "cifar_users": (1.7, 2.3, 2.6, 3.0, 4.0, 6.0, 8.0, 10.0),
}
# The paper's σ, and the same per layer: σ/√L with 4 layers, and with 5.
CLIPPED = {"clipping": (2.3, 1.15), "cifar_clipping": (3.0, 1.3416)}
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
    figure = sys.argv.pop(1) if sys.argv[1:2] and sys.argv[1] in {**NOISE, **CLIPPED} else ""
    chosen = options(__doc__, replicas=1000, more=add_start_option)
    if not figure:
        sys.exit(f"say which: {', '.join([*NOISE, *CLIPPED])}")
    place = place_of(chosen, HERE)
    if chosen.start is not None and not figure.startswith("cifar"):
        sys.exit(f"--start is for the figures on CIFAR-10, got it with {figure}")
    kept = figure if chosen.start is None else f"{figure}_authors"
    table_5 = "table_5.json" if chosen.start is None else "table_5_authors.json"
    file, name = HERE / f"{figure}.toml", f"xie-{kept}"
    more: tuple[str, ...] = ()
    if figure.startswith("cifar"):
        weights = start_weights(Path("weights"), chosen.data, chosen.start)
        more = ("--set", f'model.weights="{weights.resolve()}"')
    if figure in CLIPPED:
        axes = (
            *varied("algorithm.clip", tuple(CLIPS.values())),
            *varied("algorithm.noise_multiplier", CLIPPED[figure]),
        )
        run = fedward("replicas", file, chosen, name, *axes, *more)
        found = compare(run, place.file(kept), *CLIPPED[figure], chosen.data)
    else:
        local = "local." if figure.endswith("examples") else ""
        levels = NOISE[figure][::2] if chosen.small else NOISE[figure]
        run = fedward(
            "certify", file, chosen, name, *varied(f"algorithm.{local}noise_multiplier", levels), *more
        )
        keep(run, {"certified.json": f"{kept}.json", "certified_accuracy.png": f"{kept}.png"}, place.out)
        found = certified(run)
        if figure == "cifar_examples":  # table 5; those of the others are in the folders of tables 2 to 4
            each_level = {name.rpartition("=")[2]: each.tolist() for name, each in accuracies(run).items()}
            place.file(table_5).write_text(json.dumps(each_level) + "\n")
            place.publish(table_5)
    place.publish(f"{kept}.json", f"{kept}.png")
    Console(width=120).print(largest(found))
