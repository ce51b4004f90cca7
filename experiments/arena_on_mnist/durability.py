"""How long a backdoor outlasts its attackers: Neurotoxin beside the plain one.

    python experiments/arena_on_mnist/durability.py --data DIR

Every training is kept, and gone on with after a kill.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
import matplotlib.pyplot as plt
import numpy as np

import fedward
from published import place_of
from support import band, interval, markdown, parser, put_between

HERE = Path(__file__).parent
RECORDS, PICTURE = "durability.json", "durability.png"
SINCE = (0, 3, 6, 12, 18)
Record = dict[str, Any]


def records_of(arena: fedward.Arena) -> list[Record]:
    """Of every training with a backdoor: its success by rounds since the last attack."""
    found = []
    for cell in arena.cells:
        for seed, name in zip(cell.seeds, cell.runs, strict=True):
            if cell.attack_success is not None:
                lasted = fedward.load(arena.path / name).durability()
                found.append(
                    {
                        "name": f"{cell.attack}, {cell.defence}",
                        "seed": seed,
                        "success": list(lasted.success.values()),
                        "lifespan": lasted.lifespan,
                    }
                )
    return found


def table(groups: dict[str, list[Record]]) -> list[str]:
    """Success some rounds after the attackers have left."""
    rows = []
    for name, records in groups.items():
        success = [interval(each["success"][since] for each in records) for since in SINCE]
        spans = sorted(np.inf if each["lifespan"] is None else each["lifespan"] for each in records)
        told = ", ".join("never" if np.isinf(each) else str(each) for each in spans)
        rows.append((f"`{name}`", *success, told, str(len(records))))
    head = ("success, %, after", *(f"{since} rounds" for since in SINCE), "below one half after", "seeds")
    return markdown(head, rows)


def draw(groups: dict[str, list[Record]], file: Path) -> None:
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name, records in groups.items():
        mean, least, most = band(records, "success")
        axes.plot(mean, label=name)
        axes.fill_between(range(len(mean)), least, most, alpha=0.15)
    axes.set(xlabel="rounds since the last attack", ylabel="success", ylim=(0, 1))
    axes.legend(fontsize=8)
    figure.savefig(file, dpi=120)


def main() -> None:
    made = parser(__doc__ or "")
    made.add_argument("--show", action="store_true", help="only draw what was published")
    chosen = made.parse_args()
    place = place_of(chosen, HERE)
    if not chosen.show:
        arena = fedward.arena(HERE / "durability.toml", out=place.file("durability"), data=chosen.data)
        assert arena is not None
        place.file(RECORDS).write_text(json.dumps(records_of(arena), indent=1) + "\n")
    groups: dict[str, list[Record]] = {}
    for record in json.loads(place.records(RECORDS).read_text()):
        groups.setdefault(record["name"], []).append(record)
    draw(groups, place.file(PICTURE))
    place.publish(RECORDS, PICTURE)
    print("\n".join(lines := table(groups)))
    if place.publishes:
        put_between(HERE / "README.md", "durability", lines)


if __name__ == "__main__":
    main()
