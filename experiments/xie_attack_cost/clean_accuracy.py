"""Clean accuracy of the trainings behind figures 2, 3 and 8, beside what the paper's appendix prints.

    python experiments/xie_attack_cost/clean_accuracy.py [--runs runs]

From the replicas of run.py without attackers; published in clean_accuracy.json beside this file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import Record, options

from published import place_of

HERE = Path(__file__).parent
USERS = {1.3: 99.50, 1.6: 99.06, 1.9: 96.52, 2.2: 93.39, 2.5: 88.99}
EXAMPLES = {5: 99.60, 8: 98.81, 10: 97.34, 13: 92.29, 15: 88.01, 18: 80.94, 20: 79.60}
ROUNDS_6 = "rounds=6, noise_multiplier={:g}, cost_bound=10, 0 poisoned examples"
# Figure, run, variant, σ, T, and the paper's.
PRINTED = [
    ("2", "figure-2-backdoor", "factor=50, cost_bound=10, 0 attackers", 2.5, 3, 86.69),
    *(
        (
            "3",
            "figure-3-backdoor",
            f"rounds=5, noise_multiplier={z:g}, cost_bound=10, 0 attackers",
            z,
            5,
            paper,
        )
        for z, paper in USERS.items()
    ),
    ("8", "figure-8-backdoor", "cost_bound=10, 0 poisoned examples", 10, 4, 96.40),
    *(("8", "figure-8-noise-backdoor", ROUNDS_6.format(z), z, 6, paper) for z, paper in EXAMPLES.items()),
]


def rows(runs: Path) -> list[Record]:
    """One for each number that the paper prints and that was trained."""
    found = []
    for figure, run, variant, noise, rounds, paper in PRINTED:
        file = runs / f"xie-{run}" / "result.json"
        result = json.loads(file.read_text()) if file.exists() else {"variants": {}}
        if variant in result["variants"]:
            accuracy = {key: 100 * value for key, value in result["variants"][variant]["accuracy"].items()}
            row = {"figure": figure, "noise_multiplier": noise, "rounds": rounds, "papers_accuracy": paper}
            found.append(row | accuracy | {"replicas": result["replicas"]})
    return found


if __name__ == "__main__":
    chosen = options(__doc__, replicas=100)
    place, kept = place_of(chosen, HERE), rows(chosen.runs)
    place.file("clean_accuracy.json").write_text(json.dumps(kept, indent=1) + "\n")
    place.publish("clean_accuracy.json")
    for row in kept:
        print(row)
