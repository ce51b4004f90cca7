"""LDP-FedSGD on MNIST: clip bounds that are constant, fall, or follow the norms, as in the study of clip
sizes under LDP (docs/references.md).

    python experiments/ldp_fedsgd_on_mnist/run.py --data DIR [--seeds 3] [--rounds 300]

1,000 users of 60 digits, 200 of them in each round, logistic regression; every user sends one gradient,
clipped to C_t, with noise of standard deviation C_t. Finished trainings are kept in results.jsonl of --out,
so it can be killed and started again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import fedward
from fedward.clipping import FixedBound, HistogramMedian, PolynomialDecay, Quantile
from fedward.core.types import ClipPolicy

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from published import Place, place_of
from support import Record, carry_out, finished, grouped, mnist, seeds_and_rounds

HERE = Path(__file__).parent
RESULTS = "results.jsonl"
USERS, COHORT, NOISE, RATE, DELTA = 1000, 200, 1.0, 20.0, 1e-5


def policies(rounds: int) -> dict[str, ClipPolicy]:
    """The clip schedules of the study, under its names."""

    def poly(power: float) -> PolynomialDecay:
        return PolynomialDecay(initial=0.05, power=power, rounds=rounds)

    def quantile(share: float) -> Quantile:
        return Quantile(initial=0.01, quantile=share, bit_noise=5.0, expected_cohort=COHORT)

    def median(initial: float) -> HistogramMedian:
        return HistogramMedian(
            initial=initial, least=0.001, most=10.0, bins=24, look_noise=5.0, every=rounds // 6, most_looks=6
        )

    return {
        "clip 0.01": FixedBound(clip_bound=0.01),
        "clip 0.05": FixedBound(clip_bound=0.05),
        "poly(0.05) 0.5": poly(0.5),
        "poly(0.05) 1": poly(1.0),
        "poly(0.05) 2": poly(2.0),
        "quantile(0.01) 10 %": quantile(0.1),
        "quantile(0.01) 50 %": quantile(0.5),
        "adaptive 0.01": median(0.01),
        "adaptive 0.05": median(0.05),
    }


def train(task: tuple[str, int, int]) -> Record:
    name, seed, rounds = task
    model = fedward.models.build("logistic_regression", input_shape=(1, 28, 28), num_classes=10, seed=seed)
    algorithm = fedward.presets.ldp_fedsgd(
        num_users=USERS,
        sampler=fedward.FixedSizeSampler(size=COHORT),
        noise_multiplier=NOISE,
        policy=policies(rounds)[name],
        learning_rate=RATE,
    )
    federation = mnist(USERS)
    backend = fedward.InProcess(model, federation)
    record: Record = {"name": name, "seed": seed, "rounds": rounds}
    record |= {key: [] for key in ("round", "accuracy", "loss", "bound")}
    assert federation.test is not None
    for state, log in fedward.rounds(algorithm, model, federation, rounds=rounds, seed=seed, backend=backend):
        if (log.round + 1) % 5 == 0 or log.round + 1 == rounds:
            found = backend.evaluate(state.parameters, federation.test)
            for key, value in (
                ("round", log.round + 1),
                ("accuracy", found.accuracy),
                ("loss", found.loss),
                ("bound", log.bounds[0]),
            ):
                record[key].append(value)
    assert state.users is not None
    own = state.users.guarantees(DELTA, "rdp")
    record |= {"median_epsilon": own.median, "largest_epsilon": own.worst.epsilon}
    return record


def done(rounds: int, place: Place) -> list[Record]:
    return [record for record in finished(place.records(RESULTS)) if record["rounds"] == rounds]


def show(rounds: int, place: Place) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = grouped(done(rounds, place))
    table = Table("clip bound", "accuracy, %, last", "best round", "loss, last", "last bound", "seeds")
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    for name in policies(rounds):
        found = groups.get(name, [])
        if not found:
            continue
        accuracy = 100 * np.array([r["accuracy"] for r in found])
        loss, bound = (np.array([r[key] for r in found]) for key in ("loss", "bound"))
        spread = f" ± {accuracy[:, -1].std(ddof=1):.1f}" if len(found) > 1 else ""
        table.add_row(
            name,
            f"{accuracy[:, -1].mean():.1f}{spread}",
            f"{accuracy.mean(0).max():.1f}",
            f"{loss[:, -1].mean():.3f}",
            f"{bound[:, -1].mean():.4f}",
            str(len(found)),
        )
        for axis, curve in zip(axes, (loss, accuracy, bound), strict=True):
            axis.plot(found[0]["round"], curve.mean(0), label=name)
    axes[0].set(xlabel="round", ylabel="test loss", yscale="log")
    axes[1].set(xlabel="round", ylabel="test accuracy, %")
    axes[2].set(xlabel="round", ylabel="clip bound", yscale="log")
    axes[1].legend(fontsize=7)
    figure.suptitle("LDP-FedSGD on MNIST, z = 1 at every user: means over seeds")
    figure.savefig(place.file("clip_bounds.png"), dpi=120)
    console = Console(width=110)
    console.print(table)
    records = [record for found in groups.values() for record in found]
    if records:
        largest = max(record["largest_epsilon"] for record in records)
        median = float(np.median([record["median_epsilon"] for record in records]))
        console.print(f"local ε by rdp at δ = {DELTA:g}: median user {median:.1f}, largest {largest:.1f}")


def main() -> None:
    options = seeds_and_rounds(__doc__, seeds=3, rounds=300)
    place = place_of(options, HERE)
    known = {(record["name"], record["seed"]) for record in done(options.rounds, place)}
    tasks = [
        (name, seed, options.rounds)
        for seed in range(options.seeds)
        for name in policies(options.rounds)
        if (name, seed) not in known and not options.show
    ]
    carry_out(train, tasks, place.file(RESULTS), options.data)
    show(options.rounds, place)
    place.publish(RESULTS, "clip_bounds.png")


if __name__ == "__main__":
    main()
