"""Other people than writers: certified accuracy against k for tweets, blogs and CIFAR-10.

    python experiments/public_features/people.py --data DIR [--replicas 2000] [--small]

Sentiment140's people, bloggers, and CIFAR-10 dealt to 500 to 5,000 users on features of a network that was
trained on CIFAR-100. The noise is N/12, as for the writers (for Sentiment140 20), and features are whitened;
nothing was chosen on them. Trainings are kept in runs/ and gone on with after a kill.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import certified, fedward, options
from cifar_start import pretrained

from published import place_of

HERE = Path(__file__).parent
CIFAR_USERS = (500, 1_000, 2_000, 5_000)
KS = (0, 1, 2, 5, 10, 12, 15, 20, 25, 35, 50, 75, 100, 150, 200, 300, 500)
Record = dict[str, Any]


def tasks(small: bool) -> list[tuple[str, str, tuple[str, ...]]]:
    """Name, experiment file and what is changed in it."""
    found: list[tuple[str, str, tuple[str, ...]]] = [
        ("tweets of 2,000 people", "tweets", ()),
        ("bloggers, next of 50 words", "bloggers", ()),
    ]
    for users in CIFAR_USERS[:1] if small else CIFAR_USERS:
        changes = (
            f"data.users={users + users // 10}",
            f"data.public_features.public_users={users // 10}",
            f"privacy.users={users}",
            f"algorithm.noise_multiplier={users / 12:.0f}",
        )
        found.append((f"CIFAR-10, {users:,} users", "cifar", changes))
    return found


def certify(name: str, file: str, changes: tuple[str, ...], chosen: Any) -> Record:
    """What is certified right against some k, for users who join and for users who are taken over."""
    more = ("--score", "vote", "--save-space", "--simultaneous")
    sets = [word for each in changes for word in ("--set", each)]
    if file == "cifar":
        sets += ["--set", f"data.public_features.weights={pretrained(chosen.runs, chosen.data)}"]
    tag = "-".join(each.rpartition("=")[2] for each in changes)
    folder = f"people-{chosen.replicas}-{file}-{tag}"
    run = fedward("certify", HERE / f"{file}.toml", chosen, folder, *more, *sets)
    found = certified(run)["all"]
    record: Record = {"name": name, "epsilon": found["epsilon"], "replicas": chosen.replicas}
    record["users"] = json.loads((run / "run.json").read_text())["data"]["users"]
    for threat in ("inject", "compromise"):
        (curve,) = (c for c in found["curves"] if c["mode"] == threat and c["with_confidence"])
        shares = curve["certified_accuracy"]
        record[threat] = {str(k): round(shares[k], 4) for k in KS if k < len(shares)}
        record[f"largest k, {threat}"] = len(shares) - 1
    return record


def draw(records: list[Record], file: Path) -> None:
    figure = Figure(figsize=(6.0, 3.8), layout="constrained")
    axes = figure.subplots()
    for number, each in enumerate(records):
        ks = [int(k) for k in each["inject"]]
        shares = [100 * share for share in each["inject"].values()]
        axes.plot([*ks], shares, "o-", ms=3, lw=1, color=f"C{number}", label=each["name"])
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("k attackers who join")
    axes.set_ylabel("right and certified, %")
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=120)


def main() -> None:
    chosen = options(__doc__ or "", replicas=2000)
    if chosen.small:
        chosen.replicas = min(chosen.replicas, 200)
    place = place_of(chosen, HERE)
    file = place.file("people.json")
    records: list[Record] = json.loads(file.read_text()) if file.exists() else []
    done = {(each["name"], each["replicas"]) for each in records}
    for name, toml, changes in tasks(chosen.small):
        if (name, chosen.replicas) in done:
            continue
        records.append(certify(name, toml, changes, chosen))
        print(records[-1], flush=True)
        file.write_text(json.dumps(records, indent=1) + "\n")
    draw(records, place.file("people.png"))
    place.publish("people.json", "people.png")


if __name__ == "__main__":
    main()
