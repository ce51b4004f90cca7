"""Every way to clip on MNIST under the same ε: accuracy over rounds, one picture and one table.

    python experiments/clipping_on_mnist/run.py --data DIR [--seeds 3] [--rounds 40]

600 iid users of 100 digits, Poisson sampling q = 0.2, one local epoch, mnist_cnn. For each way the model's
noise is calibrated so that the whole training, looks included, spends ε = 8 at δ = 600^-1.1 by pld. Finished
trainings are kept in results.jsonl of --out, so it can be killed and started again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from dp_accounting import ComposedDpEvent, DpEvent, SelfComposedDpEvent
from rich.console import Console
from rich.progress import track
from rich.table import Table

import fedward
from fedward.clipping import ClipNormDecay, HistogramMedian, PolynomialDecay, Quantile
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import ParameterSpec
from fedward.privacy import noise_for

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from published import Place, place_of
from support import Record, carry_out, finished, grouped, mnist, seeds_and_rounds

HERE = Path(__file__).parent
RESULTS = "results.jsonl"
USERS, RATE, EPSILON, DELTA = 600, 0.2, 8.0, 600**-1.1
COHORT = USERS * RATE
START = 1.0
LOCAL = fedward.SGD(learning_rate=0.05, batch_size=10, epochs=1, momentum=0.9)


def algorithms(rounds: int, layers: tuple[int, ...]) -> dict[str, Callable[[float], Algorithm]]:
    """Each way to clip, as a function of the noise multiplier that is calibrated."""

    def with_policy(**arguments: Any) -> Callable[[float], Algorithm]:
        return lambda z: fedward.presets.user_dp_fedavg(
            num_users=USERS,
            sampler=fedward.PoissonSampler(rate=RATE),
            local=LOCAL,
            noise_multiplier=z,
            **arguments,
        )

    def polynomial(power: float) -> Callable[[float], Algorithm]:
        return with_policy(policy=PolynomialDecay(initial=START, power=power, rounds=rounds))

    def quantile(share: float) -> Callable[[float], Algorithm]:
        return with_policy(
            policy=Quantile(initial=START, quantile=share, bit_noise=COHORT / 20, expected_cohort=COHORT)
        )

    decay = ClipNormDecay(initial=START, decay=0.99, look_noise=3.5, expected_cohort=COHORT)
    histogram = HistogramMedian(
        initial=START, least=0.05, most=5.0, bins=20, look_noise=5.0, every=rounds // 5, most_looks=5
    )
    return {
        "fixed": with_policy(clip_bound=START),
        "per layer": with_policy(clip="per-layer", layers=layers, clip_bound=START / len(layers) ** 0.5),
        "polynomial 0.5": polynomial(0.5),
        "polynomial 1": polynomial(1.0),
        "polynomial 2": polynomial(2.0),
        "clip norm decay": with_policy(policy=decay),
        "quantile 0.1": quantile(0.1),
        "quantile 0.5": quantile(0.5),
        "histogram median": with_policy(policy=histogram),
    }


def calibrated(make: Callable[[float], Algorithm], rounds: int) -> Algorithm:
    """The algorithm with the least noise that spends at most ε, looks included."""

    def whole_training(z: float) -> DpEvent:
        spending = make(z).planned_ledger(USERS, rounds).spending
        return ComposedDpEvent([SelfComposedDpEvent(event, count) for event, count in spending])

    return make(noise_for(EPSILON, DELTA, whole_training, 1, "pld", "add/remove"))


def train(task: tuple[str, int, Algorithm, int]) -> Record:
    """One training: accuracy after each round, and the bounds it had."""
    name, seed, algorithm, rounds = task
    federation, model = mnist(USERS), new_model(seed)
    backend = fedward.InProcess(model, federation)
    accuracy, bounds = [], []
    assert federation.test is not None
    for state, log in fedward.rounds(algorithm, model, federation, rounds=rounds, seed=seed, backend=backend):
        accuracy.append(backend.evaluate(state.parameters, federation.test).accuracy)
        bounds.append(log.bounds[0])
    return {
        "name": name,
        "seed": seed,
        "rounds": rounds,
        "noise_multiplier": algorithm.mechanism.multiplier,
        "epsilon": state.ledger.guarantee(DELTA, "pld").epsilon,
        "accuracy": accuracy,
        "bounds": bounds,
    }


def new_model(seed: int) -> torch.nn.Module:
    return fedward.models.build("mnist_cnn", input_shape=(1, 28, 28), num_classes=10, seed=seed)


def done(rounds: int, place: Place) -> list[Record]:
    return [record for record in finished(place.records(RESULTS)) if record["rounds"] == rounds]


def show(rounds: int, place: Place) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = grouped(done(rounds, place))
    # The ways are compared on the seeds that all of them have finished.
    common = set.intersection(*({record["seed"] for record in records} for records in groups.values()))
    groups = {name: [r for r in records if r["seed"] in common] for name, records in groups.items()}
    table = Table("clipping", "noise z", "ε", "accuracy, last round", "best round", "last bound", "seeds")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, records in groups.items():
        curves = 100 * np.array([record["accuracy"] for record in records])
        bounds = np.array([record["bounds"] for record in records])
        last = curves[:, -1]
        table.add_row(
            name,
            f"{records[0]['noise_multiplier']:.3f}",
            f"{records[0]['epsilon']:.3f}",
            f"{last.mean():.1f}" + (f" ± {last.std(ddof=1):.1f}" if len(last) > 1 else ""),
            f"{curves.mean(0).max():.1f}",
            f"{bounds[:, -1].mean():.3f}",
            str(len(records)),
        )
        t = np.arange(1, rounds + 1)
        (line,) = left.plot(t, curves.mean(0), label=name)
        left.fill_between(t, curves.min(0), curves.max(0), color=line.get_color(), alpha=0.12, lw=0)
        right.semilogy(t, bounds.mean(0), color=line.get_color())
    left.set(xlabel="round", ylabel="test accuracy, %", ylim=(0, 100))
    right.set(xlabel="round", ylabel="clip bound (first layer's, if per layer)")
    left.legend(fontsize=8)
    figure.suptitle(f"MNIST, 600 users, q = 0.2: every way to clip at ε = {EPSILON:g}, δ = {DELTA:.1e} (pld)")
    figure.savefig(place.file("accuracy.png"), dpi=130)
    Console(width=120).print(table)


def main() -> None:
    options = seeds_and_rounds(__doc__, seeds=3, rounds=40)
    place = place_of(options, HERE)
    if options.show:
        show(options.rounds, place)
        return
    known = {(record["name"], record["seed"]) for record in done(options.rounds, place)}
    layers = ParameterSpec.of(new_model(0)).layer_sizes()
    ways = algorithms(options.rounds, layers).items()
    tasks = [
        (name, seed, calibrated(make, options.rounds), options.rounds)
        for name, make in track(ways, "calibrating")
        for seed in range(options.seeds)
        if (name, seed) not in known
    ]
    tasks.sort(key=lambda task: task[1])
    carry_out(train, tasks, place.file(RESULTS), options.data)
    show(options.rounds, place)
    place.publish(RESULTS, "accuracy.png")


if __name__ == "__main__":
    main()
