"""Table 3 of Xie et al.: clean accuracy of UserDP-FedAvg on CIFAR-10, airplane or bird, against the noise.

    python experiments/xie_table_3/run.py --data DIR [--seeds 4] [--replicas 10] [--start FILE] [--small]

The table is about one round. Its users start from the same model, so all cohorts and noise levels of a seed
share the 200 trainings of the users: M replicas of nine noise levels cost little more than one. The initial
model was trained on CIFAR-100 without privacy (cifar100.toml); that is done first, unless --weights DIR
has it. With --start it is the authors' own, whose records are kept apart. A seed draws the new last layer and
the local shuffles, a replica the cohort and the noise. Finished seeds are kept in the records of --out, so it
can be killed and started again.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import fedward
from fedward.core.algorithm import Algorithm
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.models.initial_weights import load_weights

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from cifar_start import add_start_option, start_weights

from published import Place, place_of
from support import Record, carry_out, finished, half_width, parser

HERE = Path(__file__).parent
# The file of records and the picture, by whose start it is.
OURS, AUTHORS = ("results.jsonl", "accuracy.png"), ("authors_start.jsonl", "authors_start.png")
PAPER = {0: 81.90, 1.7: 81.82, 2.3: 80.09, 2.6: 79.27, 3: 77.89, 4: 73.07, 6: 64.36, 8: 57.92, 10: 54.59}
USERS, COHORT, BOUND, DELTA = 200, 40, 1.0, 0.0029
SAMPLER = fedward.FixedSizeSampler(size=COHORT)
LOCAL = fedward.SGD(learning_rate=0.05, batch_size=50, epochs=5, momentum=0.9, weight_decay=5e-4)


@dataclass(frozen=True)
class Task:
    """All noise levels of one seed."""

    seed: int
    replicas: int
    weights: Path
    data: str | None


def algorithm(noise: float) -> Algorithm:
    """UserDP-FedAvg; without noise it still clips."""
    if noise == 0:
        return fedward.presets.norm_bounding(num_users=USERS, sampler=SAMPLER, local=LOCAL, clip_bound=BOUND)
    return fedward.presets.user_dp_fedavg(
        num_users=USERS, sampler=SAMPLER, local=LOCAL, clip_bound=BOUND, noise_multiplier=noise
    )


def train(task: Task) -> Record:
    """Test accuracy after one round: of each noise level, all replicas."""
    federation = airplanes_and_birds(task.data)
    model = fedward.models.build("cifar_cnn", input_shape=(3, 32, 32), num_classes=2, seed=task.seed)
    load_weights(task.weights, model, "cifar_cnn")
    backend = fedward.InProcess(model, federation)
    together = Lockstep(model, federation, backend, seed=task.seed)
    accuracy: dict[str, list[float]] = {}
    norms: list[float] = []
    assert federation.test is not None
    for noise in PAPER:
        rule = algorithm(noise)
        # Without noise nothing but the cohort differs, so few say it all.
        number = task.replicas if noise else min(task.replicas, 5)
        trainings = [Training(algorithm=rule, rounds=1, replica=replica) for replica in range(number)]
        values = []
        for state, log in together.round(trainings, together.start(trainings)):
            values.append(backend.evaluate(state.parameters, federation.test).accuracy)
            assert log is not None
            assert log.telemetry is not None
            if not noise:
                norms += log.telemetry.norms_of(malicious=False)
        accuracy[f"{noise:g}"] = values
    return {
        "seed": task.seed,
        "replicas": task.replicas,
        "user_trainings": together.run,
        "mean_norm": float(np.mean(norms)),
        "accuracy": accuracy,
    }


@functools.cache
def airplanes_and_birds(data: str | None) -> fedward.Federation:
    """The same split in every process and for every seed; read once."""
    return fedward.datasets.cifar10.load(data_dir=data, users=USERS, classes=(0, 2), standardise=True, seed=0)


def epsilon(noise: float) -> str:
    """As the paper accounts for it, and with a proof for cohorts of fixed size."""
    if noise == 0:
        return "no guarantee"
    values = (algorithm(noise).guarantee(USERS, 1, DELTA, mode).epsilon for mode in ("moments", "rdp"))
    return " / ".join(f"{value:.4f}" for value in values)


def show(place: Place, records: str, drawn: str) -> None:
    found = finished(place.records(records))
    table = Table("σ", "ε (moments / rdp)", "paper", "measured", "deviation of one run", "runs", "by seed")
    for noise, printed in PAPER.items():
        runs = [100 * np.array(record["accuracy"][f"{noise:g}"]) for record in found]
        together = np.concatenate(runs)
        table.add_row(
            f"{noise:g}",
            epsilon(noise),
            f"{printed:.2f}",
            f"{together.mean():.1f} ± {half_width(together):.1f}",
            f"{together.std(ddof=1):.1f}",
            str(len(together)),
            ", ".join(f"{values.mean():.1f}" for values in runs),
        )
    Console(width=130).print(table)
    picture(found, place.file(drawn))


def picture(found: list[Record], file: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
    means = []
    for noise in PAPER:
        values = 100 * np.concatenate([record["accuracy"][f"{noise:g}"] for record in found])
        means.append((values.mean(), half_width(values)))
        axis.plot([noise] * len(values), values, "C0.", ms=4, alpha=0.3)
    mean, half = np.array(means).T
    axis.errorbar(list(PAPER), mean, half, color="C0", capsize=3, label="measured, dots are runs")
    axis.plot(list(PAPER), list(PAPER.values()), "C1s--", label="Xie et al.")
    axis.set(xlabel="noise σ", ylabel="test accuracy, %")
    axis.set_title("UserDP-FedAvg, airplane or bird, one round")
    axis.legend()
    figure.savefig(file, dpi=120)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--seeds", type=int, default=4)
    made.add_argument("--replicas", type=int, default=10, help="trainings of each seed and noise level")
    made.add_argument(
        "--weights", type=Path, default=Path("weights"), help="where the public training is kept"
    )
    add_start_option(made)
    made.add_argument("--small", action="store_true", help="two seeds of five replicas")
    made.add_argument("--show", action="store_true", help="only draw what is finished")
    options = made.parse_args()
    place = place_of(options, HERE)
    records, drawn = OURS if options.start is None else AUTHORS
    if not options.show:
        seeds, replicas = (2, 5) if options.small else (options.seeds, options.replicas)
        done = {record["seed"] for record in finished(place.file(records))}
        weights = start_weights(options.weights, options.data, options.start)
        left = [Task(seed, replicas, weights, options.data) for seed in range(seeds) if seed not in done]
        carry_out(train, left, place.file(records))
    show(place, records, drawn)
    place.publish(records, drawn)


if __name__ == "__main__":
    main()
