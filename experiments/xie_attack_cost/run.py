"""Figures 2, 3, 5 and 8 of Xie et al.: what attacks cost, measured and bounded, on MNIST 0/1.

    python experiments/xie_attack_cost/run.py figure_2 --data DIR [--replicas 100]
    python experiments/xie_attack_cost/run.py figure_3 --data DIR [--replicas 100] [--small]
    python experiments/xie_attack_cost/run.py figure_8 --data DIR [--replicas 100] [--small]
    python experiments/xie_attack_cost/run.py figure_8_noise --data DIR [--replicas 100] [--small]

Trainings are kept in runs/ and gone on with after a kill; what was found is put into --out, and
beside this file by --publish.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import Record, certified, fedward, options, varied
from pictures import figure_2, figure_3, figure_5, figure_8, figure_8_noise

from published import place_of

HERE = Path(__file__).parent
ATTACKS = ("backdoor", "distributed", "label_flip")
# That of the paper's table 1, and one that attacks do not exhaust.
COST_BOUNDS = varied("attack.cost_bound", (0.5, 10))
SCALES = varied("attack.model.0.factor", (1, 50, 100))
FRACTIONS = varied("attack.data.0.fraction", (0.2, 0.4, 0.6, 0.8, 1.0))
NOISE = (1.3, 1.6, 1.9, 2.2, 2.5)
EXAMPLE_NOISE = (5.0, 8.0, 10.0, 13.0, 15.0, 18.0, 20.0)
SOME = "1,2,3,4,6,8,10,15,20"


def measure(name: str, file: str, chosen: Any, attackers: str, *axes: str) -> Record:
    """One run of the command; its variants by name."""
    more = ("--attackers", attackers, *axes, *COST_BOUNDS)
    return certified(fedward("certify", HERE / f"{file}.toml", chosen, f"xie-{name}", *more))


def second(chosen: Any) -> Record:
    """Over the number of attackers: γ for each attack, and α for the backdoor."""
    found = {attack: measure(f"figure-2-{attack}", attack, chosen, SOME, *SCALES) for attack in ATTACKS}
    found["backdoor, γ = 50"] = measure("figure-2-fraction", "backdoor", chosen, SOME, *FRACTIONS)
    return found


def third(chosen: Any) -> Record:
    """Over ε, with ten attackers and five rounds."""
    noise = NOISE[::2] if chosen.small else NOISE
    axes = (*varied("rounds", (5,)), *varied("algorithm.noise_multiplier", noise))
    return {attack: measure(f"figure-3-{attack}", attack, chosen, "10", *axes) for attack in ATTACKS}


def eighth(chosen: Any) -> Record:
    """Over the number of poisoned examples of one user, with four rounds."""
    numbers = "50,500" if chosen.small else "10,50,200,500"
    return {
        attack: measure(f"figure-8-{attack}", f"examples_{attack}", chosen, numbers)
        for attack in ("backdoor", "label_flip")
    }


def eighth_over_noise(chosen: Any) -> Record:
    """Over ε, with six rounds."""
    noise = EXAMPLE_NOISE[::3] if chosen.small else EXAMPLE_NOISE
    axes = (*varied("rounds", (6,)), *varied("algorithm.local.noise_multiplier", noise))
    return {
        attack: measure(f"figure-8-noise-{attack}", f"examples_{attack}", chosen, "50,500", *axes)
        for attack in ("backdoor", "label_flip")
    }


def crossed(found: Record) -> list[str]:
    """Where the whole interval of a measured cost lies outside of a bound."""
    return [
        f"{attack}, {variant}, {mode}: k = {k}"
        for attack, variants in found.items()
        for variant, each in variants.items()
        for mode, ks in each["crossed"].items()
        for k in ks
    ]


FIGURES = {
    "figure_2": (second, figure_2),
    "figure_3": (third, figure_3),
    "figure_8": (eighth, figure_8),
    "figure_8_noise": (eighth_over_noise, figure_8_noise),
}

if __name__ == "__main__":
    figure = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in FIGURES else ""
    chosen = options(__doc__, replicas=100)
    if not figure:
        sys.exit(f"say which: {', '.join(FIGURES)}")
    place = place_of(chosen, HERE)
    measured, draw = FIGURES[figure]
    found = measured(chosen)
    place.file(f"{figure}.json").write_text(json.dumps(found) + "\n")
    draw(found, place.file(f"{figure}.png"))
    if figure == "figure_3":
        figure_5(found, place.file("figure_5.png"))
    more = ("figure_5.png",) if figure == "figure_3" else ()
    place.publish(f"{figure}.json", f"{figure}.png", *more)
    for line in crossed(found) or ["no measured cost crosses a bound"]:
        print(line)
