"""FedAvg with the CNN on all ten classes of CIFAR-10: accuracy over rounds, and the models that are attacked.

    python experiments/miao_red_cars/warm_up.py --data DIR --weights DIR [--seeds 3] [--rounds 40]

It starts from the weights of xie_table_3, trained on CIFAR-100 (``fedward pretrain``, or the script
there). 80 honest users of 100, iid, five in a round; the other 20 are the attackers of run.py and stay away,
with all red cars. Finished trainings are kept in warm_up.jsonl of --out and their models in the
directory of the weights, so it can be killed and started again.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from trainings import HERE, Training, model_of, options_of, red_cars, train

import fedward
from published import Place, place_of
from support import carry_out, finished, interval

RESULTS = "warm_up.jsonl"
LOCAL = fedward.SGD(learning_rate=0.02, batch_size=20, epochs=1, momentum=0.9, learning_rate_decay=0.97)


def training(seed: int, rounds: int, weights: Path, data: str | None) -> Training:
    return Training(
        name="FedAvg, ten classes",
        seed=seed,
        rounds=rounds,
        algorithm=fedward.presets.fedavg(sampler=fedward.FixedSizeSampler(size=5), local=LOCAL),
        attack=red_cars(0),
        weights=weights / "cifar100.pt",
        data=data,
        split="iid",
        keep=model_of(weights, seed),
        seen=(1_000, 10_000),
    )


def show(rounds: int, place: Place) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    # A model that was lost is trained again: one record for each seed.
    records = {r["seed"]: r for r in finished(place.records(RESULTS)) if r["rounds"] == rounds}.values()
    if not records:
        raise SystemExit(f"no training of {rounds} rounds is finished")
    curves = 100 * np.array([[r["start"]["accuracy"], *r["accuracy"]] for r in records])
    at = np.arange(curves.shape[1])
    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    axis.plot(at, curves.mean(0))
    axis.fill_between(at, curves.min(0), curves.max(0), alpha=0.2, lw=0)
    axis.set(xlabel="round", ylabel="test accuracy, %", ylim=(0, None))
    axis.set_title(f"FedAvg on CIFAR-10, mean and range of {len(curves)} seeds")
    figure.savefig(place.file("warm_up.png"), dpi=120)
    for number in (0, 1, 5, 10, 20, 30, 40):
        if number < curves.shape[1]:
            print(f"round {number}: {interval(curves[:, number] / 100)} %")


def main() -> None:
    options = options_of(__doc__, seeds=3, rounds=40)
    place = place_of(options, HERE)
    if not options.show:
        tasks = [
            training(seed, options.rounds, options.weights, options.data)
            for seed in range(options.seeds)
            if not model_of(options.weights, seed).exists()
        ]
        carry_out(train, tasks, place.file(RESULTS))
    show(options.rounds, place)
    place.publish(RESULTS, "warm_up.png")


if __name__ == "__main__":
    main()
