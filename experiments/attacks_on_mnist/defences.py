"""One attack, all defences; then the same attack by attackers who collude: figure 9 of Miao et al., on MNIST.

    python experiments/attacks_on_mnist/defences.py --data DIR [--seeds 3] [--rounds 120]

100 users of 600 digits, cohorts of 20 with exactly 4 attackers, who put the white pixel on all of their
images and label them 0. Colluding attackers send the mean of their updates, all the same row. Defences know
f = 4; clip bounds and noise are in ``DEFENCES``. Then Krum alone, against 8 of 20. Finished trainings are
kept in defences.jsonl of --out, so it can be killed and started again; --publish puts them beside this file,
and the figure into docs/attacks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table
from trainings import DOCS, HERE, Record, Training, carry_out, grouped, interval, seeds_and_rounds

import fedward
from fedward.attacks import Attack, PerCohort
from fedward.attacks.model_poisoning import Collude
from fedward.attacks.poisoning import SinglePixel
from fedward.core.algorithm import Algorithm
from published import place_of

USERS, COHORT, BAD = 100, 20, 4
DELTA = 1e-5
SAMPLER = fedward.FixedSizeSampler(size=COHORT)
LOCAL = fedward.SGD(learning_rate=0.5, learning_rate_decay=0.985, batch_size=40, epochs=1)
CLIPPED: dict[str, Any] = {"num_users": USERS, "sampler": SAMPLER, "local": LOCAL}
ROBUST: dict[str, Any] = {"sampler": SAMPLER, "local": LOCAL}
presets = fedward.presets

DEFENCES: dict[str, Callable[[], Algorithm]] = {
    "none": lambda: presets.fedavg(**ROBUST),
    "norm bounding": lambda: presets.norm_bounding(**CLIPPED, clip_bound=0.5),
    "norm bounding, 0.1": lambda: presets.norm_bounding(**CLIPPED, clip_bound=0.1),
    "weak DP": lambda: presets.weak_dp(**CLIPPED, clip_bound=0.5, noise_std=0.001),
    "Krum": lambda: presets.krum(**ROBUST, malicious=BAD),
    "Multi-Krum": lambda: presets.multi_krum(**ROBUST, malicious=BAD),
    "median": lambda: presets.median(**ROBUST),
    "trimmed mean": lambda: presets.trimmed_mean(**ROBUST, trimmed=BAD),
    "geometric median": lambda: presets.geometric_median(**ROBUST),
    "Bulyan": lambda: presets.bulyan(**ROBUST, malicious=BAD),
    "CDP": lambda: presets.central_dp(**CLIPPED, clip_bound=0.1, noise_multiplier=4.0),
    "CND": lambda: presets.clip_norm_decay(
        **CLIPPED, initial_bound=0.1, decay=0.99, noise_multiplier=4.0, look_noise=3.5
    ),
}
ATTACKS = {"alone": (), "colluding": (Collude(),)}


KRUM: dict[str, Callable[[], Algorithm]] = {
    "none": DEFENCES["none"],
    "Krum": lambda: presets.krum(**ROBUST, malicious=8),
}


def against_krum(seeds: int, rounds: int) -> list[Training]:
    """8 of 20 attack, as many as Krum is told to expect; with few bad examples they stay near the others."""
    return [
        Training(
            name=f"{defence}, 8 attack, α = {fraction:g}, {how}",
            seed=seed,
            rounds=rounds,
            algorithm=make(),
            attack=Attack(
                who=PerCohort(count=20, each=8), data=(SinglePixel(fraction=fraction),), model=model
            ),
        )
        for seed in range(seeds)
        for fraction in (1.0, 0.2)
        for defence, make in KRUM.items()
        for how, model in ATTACKS.items()
        if (defence, how) != ("none", "colluding")  # to a mean, equal rows are the same as their mean
    ]


def trainings(seeds: int, rounds: int) -> list[Training]:
    return [
        Training(
            name=f"{defence}, {how}",
            seed=seed,
            rounds=rounds,
            algorithm=make(),
            attack=Attack(who=PerCohort(count=20, each=BAD), data=(SinglePixel(),), model=model),
        )
        for seed in range(seeds)
        for how, model in ATTACKS.items()
        for defence, make in DEFENCES.items()
    ]


def spent(defence: str, rounds: int) -> str:
    """ε of the whole training as the papers account for it, and with a proof for fixed-size cohorts."""
    algorithm = DEFENCES[defence]()
    if algorithm.unproven:
        return "no guarantee"
    papers, proven = (algorithm.guarantee(USERS, rounds, DELTA, mode).epsilon for mode in ("moments", "rdp"))
    return f"{papers:.2f} / {proven:.2f}" if proven < 1e5 else f"{papers:.1e} / {proven:.1e}"


def show(records: list[Record], rounds: int, file: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = grouped(records)
    table = Table("defence", "ε (moments / rdp)")
    for how in ATTACKS:
        table.add_column(f"accuracy, %, {how}")
        table.add_column(f"success, %, {how}")
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharey=True)
    for place, defence in enumerate(DEFENCES):
        cells = [defence, spent(defence, rounds)]
        for number, how in enumerate(ATTACKS):
            found = groups.get(f"{defence}, {how}", [])
            for column, key in enumerate(("accuracy", "attack_success")):
                values = [r[key][-1] for r in found]
                cells.append(interval(values) if values else "-")
                if values:
                    at = len(DEFENCES) - place + 0.18 - 0.36 * number
                    axes[column].barh(at, 100 * np.mean(values), 0.34, color=f"C{number}")
                    axes[column].plot([100 * v for v in values], [at] * len(values), "k.", ms=4)
        table.add_row(*cells)
    axes[0].set_yticks(range(len(DEFENCES), 0, -1), list(DEFENCES))
    axes[0].set(title="accuracy, %", xlim=(0, 100))
    axes[1].set(title="attack success, %", xlim=(0, 100))
    axes[1].legend(
        handles=[mpl.patches.Patch(color=f"C{number}", label=how) for number, how in enumerate(ATTACKS)],
        loc="lower right",
    )
    figure.suptitle(f"Single-pixel backdoor, 4 of 20 attack, {rounds} rounds: bars are means, dots are seeds")
    figure.savefig(file, dpi=120)
    krum = Table("8 of 20 attack", "accuracy, %", "success, %", "seeds")
    for name, found in groups.items():
        if "8 attack" in name:
            values = [interval(r[key][-1] for r in found) for key in ("accuracy", "attack_success")]
            krum.add_row(name.replace(" 8 attack,", ""), *values, str(len(found)))
    console = Console(width=130)
    console.print(table)
    console.print(krum)


def main() -> None:
    options = seeds_and_rounds(__doc__, seeds=3, rounds=120)
    place = place_of(options, HERE)
    tasks = trainings(options.seeds, options.rounds) + against_krum(options.seeds, options.rounds)
    found = carry_out(tasks, place.records("defences.jsonl"), options)
    show(found, options.rounds, place.file("defences.png"))
    place.publish("defences.jsonl", "defences.png", pictures=DOCS)


if __name__ == "__main__":
    main()
