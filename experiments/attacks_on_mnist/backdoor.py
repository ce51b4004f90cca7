"""The single-pixel backdoor without any defence: figures 2, 3, 4 and 5 and table 2 of Miao et al., on MNIST.

    python experiments/attacks_on_mnist/backdoor.py --data DIR [--seeds 3] [--rounds 120]

100 users of 600 digits, cohorts of 20 with exactly P_m attackers of 20, FedAvg with batches of 40 and two
local epochs. All images of an attacker get the pixel and the label 0. Finished trainings are kept in
backdoor.jsonl of --out, so it can be killed and started again; --publish puts them beside this file, and the
figure into docs/attacks.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from rich.console import Console
from rich.table import Table
from trainings import DOCS, HERE, Record, Training, band, carry_out, grouped, interval, seeds_and_rounds

import fedward
from fedward.attacks import Attack, PerCohort
from fedward.attacks.poisoning import SinglePixel
from published import place_of

RATE, RATE_DECAY = 0.5, 0.985
SLOW = 0.1
ATTACKERS = (0, 1, 2, 4, 8)
EPOCHS = (1, 2, 5)
DECAYS = (0.0, 1e-4, 5e-4, 1e-3, 5e-3)


def training(
    seed: int, rounds: int, *, each: int = 4, epochs: int = 2, decay: float = 0.0, rate: float = RATE
) -> Training:
    local = fedward.SGD(
        learning_rate=rate,
        learning_rate_decay=RATE_DECAY,
        batch_size=40,
        epochs=epochs,
        weight_decay=decay,
    )
    return Training(
        name=name(each, epochs, decay, rate),
        seed=seed,
        rounds=rounds,
        algorithm=fedward.presets.fedavg(sampler=fedward.FixedSizeSampler(size=20), local=local),
        attack=Attack(who=PerCohort(count=20, each=each), data=(SinglePixel(),)),
    )


def name(each: int = 4, epochs: int = 2, decay: float = 0.0, rate: float = RATE) -> str:
    slow = "" if rate == RATE else f", η = {rate:g}"
    return f"P_m = {each}, E = {epochs}, weight decay {decay:g}{slow}"


def trainings(seeds: int, rounds: int) -> list[Training]:
    tasks = []
    for seed in range(seeds):
        tasks += [training(seed, rounds, epochs=epochs) for epochs in EPOCHS if epochs != 2]
        tasks += [training(seed, rounds, each=each) for each in reversed(ATTACKERS)]
        tasks += [training(seed, rounds, decay=decay) for decay in DECAYS if decay]
        tasks += [training(seed, rounds, each=8, epochs=5)]
        tasks += [training(seed, rounds, epochs=epochs, rate=SLOW) for epochs in EPOCHS]
    return tasks


def show(records: list[Record], file: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = grouped(records)
    table = Table("setting", "accuracy, %", "success, %", "attack cost J", "seeds")
    for setting, found in groups.items():
        cost = sum(r["attack_cost"][-1] for r in found) / len(found)
        table.add_row(
            setting,
            interval(r["accuracy"][-1] for r in found),
            interval(r["attack_success"][-1] for r in found),
            f"{cost:.3f}",
            str(len(found)),
        )
    Console(width=110).print(table)

    figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for each in ATTACKERS:
        found = groups.get(name(each=each), [])
        if found:
            mean, least, most = (100 * part for part in band(found, "attack_success"))
            (line,) = axes[0, 0].plot(found[0]["round"], mean, label=f"{each} of 20 attack")
            axes[0, 0].fill_between(found[0]["round"], least, most, color=line.get_color(), alpha=0.15, lw=0)
    axes[0, 0].set(title="Success rises with the number of attackers", ylabel="attack success, %")

    found = groups.get(name(), [])
    if found:
        for key, label in (("accuracy", "accuracy"), ("attack_success", "attack success")):
            mean, least, most = (100 * part for part in band(found, key))
            (line,) = axes[0, 1].plot(found[0]["round"], mean, label=label)
            axes[0, 1].fill_between(found[0]["round"], least, most, color=line.get_color(), alpha=0.15, lw=0)
        for key, label in (("honest_norm", "honest users"), ("malicious_norm", "attackers")):
            axes[1, 1].plot(found[0]["round"], band(found, key)[0], label=f"{label}, 4 of 20 attack")
    axes[0, 1].set(title="It lags behind accuracy (4 of 20 attack)", ylabel="%")

    for epochs in EPOCHS:
        for rate, style in ((RATE, "-"), (SLOW, ":")):
            found = groups.get(name(epochs=epochs, rate=rate), [])
            if found:
                success = 100 * band(found, "attack_success")[0]
                label = f"E = {epochs}, η = {rate:g}"
                axes[1, 0].plot(found[0]["round"], success, style, color=f"C{epochs}", label=label)
    for decay in DECAYS[1:]:
        found = groups.get(name(decay=decay), [])
        if found:
            success = 100 * band(found, "attack_success")[0]
            axes[1, 0].plot(
                found[0]["round"], success, "--", label=f"E = 2, η = {RATE:g}, weight decay {decay:g}"
            )
    axes[1, 0].set(title="Fewer epochs and weight decay", ylabel="attack success, %")
    axes[1, 1].set(title="Update norms (telemetry, covered by no ε)", ylabel="mean L2 norm", ylim=(0, None))
    for axis in axes.flat:
        axis.set_xlabel("round")
        axis.legend(fontsize=7, loc="upper right" if axis is axes[1, 1] else "lower right")
    figure.suptitle(
        "Single-pixel backdoor on MNIST without defence: mean over seeds, bands from least to most"
    )
    axes[0, 0].legend(fontsize=7, loc="center right", bbox_to_anchor=(1, 0.3))
    axes[1, 0].legend(fontsize=6.5, loc="upper left")
    figure.savefig(file, dpi=120)


def main() -> None:
    options = seeds_and_rounds(__doc__, seeds=3, rounds=120)
    place = place_of(options, HERE)
    tasks = trainings(options.seeds, options.rounds)
    found = carry_out(tasks, place.records("backdoor.jsonl"), options)
    show(found, place.file("single_pixel.png"))
    place.publish("backdoor.jsonl", "single_pixel.png", pictures=DOCS)


if __name__ == "__main__":
    main()
