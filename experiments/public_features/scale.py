"""How k grows with the number of users, from 100 to 100,000.

    python experiments/public_features/scale.py [--replicas 1000] [--small]

Two lines. In one the noise grows with N, σ = N/4: the noise on the mean stays, and with it the models.
ε falls like 1/N then. In the other σ = 5 stays, and with it ε: then M sets the ceiling, and k stops growing.
The law of the data, the features and M are the same everywhere: only N changes.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedward.certificates.certificate_file import loads
from fedward.certificates.tally import read_scores

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import certified, fedward, options

from published import place_of

HERE = Path(__file__).parent
USERS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
SMALL = (100, 1_000)
SHARE, FIXED = 4, 5.0
Record = dict[str, Any]


def certify(users: int, noise: float, chosen: Any) -> Record:
    """The largest k at which half of the test examples are certified, for users who join."""
    more = ("--score", "vote", "--save-space", "--threat", "inject")
    changes = (f"data.users={users}", f"privacy.users={users}", f"algorithm.noise_multiplier={noise:g}")
    sets = [word for each in changes for word in ("--set", each)]
    run = fedward("certify", HERE / "generated.toml", chosen, f"scale-{users}-{noise:g}", *more, *sets)
    certificate = loads((run / "certificate.json").read_text()).certificate
    tally = read_scores((run / "certificate-scores.npz").read_bytes())
    assert tally.labels is not None
    k = np.where(certificate.bounds.top == tally.labels, certificate.attacks[0].k, -1)
    return {
        "users": users,
        "noise": noise,
        "epsilon": certified(run)["all"]["epsilon"],
        "at 0": float((k >= 0).mean()),
        "k at 50 %": int(np.sort(k)[::-1][math.ceil(len(k) / 2) - 1]),
        "largest k": int(k.max()),
        "replicas": chosen.replicas,
    }


def draw(records: list[Record], file: Path) -> None:
    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    axes = figure.subplots()
    grows = [each for each in records if each["noise"] == each["users"] / SHARE]
    stays = [each for each in records if each["noise"] == FIXED]
    for own, label, mark in (
        (grows, f"σ = N/{SHARE}: ε falls like 1/N", "o-"),
        (stays, f"σ = {FIXED:g}", "s--"),
    ):
        kept = [each for each in own if each["k at 50 %"]]
        axes.loglog([e["users"] for e in kept], [e["k at 50 %"] for e in kept], mark, label=label)
    axes.set_xlabel("users N")
    axes.set_ylabel("k that join, certified for half of the examples")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=160)


def main() -> None:
    chosen = options(__doc__ or "", replicas=1000)
    place = place_of(chosen, HERE)
    file = place.file("scale.json")
    records: list[Record] = json.loads(file.read_text()) if file.exists() else []
    done = {(each["users"], each["noise"], each["replicas"]) for each in records}
    for users in SMALL if chosen.small else USERS:
        # What σ = 5 certifies is M's ceiling from some users on: no need to go further with it.
        for noise in sorted({users / SHARE, *([FIXED] if users <= 3_000 else [])}):
            if (users, noise, chosen.replicas) in done:
                continue
            records.append(certify(users, noise, chosen))
            print(records[-1], flush=True)
            file.write_text(json.dumps(records, indent=1) + "\n")
    draw(records, place.file("scale.png"))
    place.publish("scale.json", "scale.png")


if __name__ == "__main__":
    main()
