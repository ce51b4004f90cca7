"""Tables 2 and 4 of Xie et al. once more, with another initial model in every run.

    python experiments/xie_tables/initial_models.py --data DIR [--runs 4:15=100 ...] [--show]

run.py trains 1,000 replicas of one initial model. Here every run has its own initial model, cohorts or
batches, and noise; the split of the data is the same, and in table 2 exactly 20 users take part in a round,
as the paper says. Finished runs are kept in initial_models.jsonl beside this file, so it can be killed and
started again, or asked for more runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from rich.console import Console
from rich.table import Table
from rows import HERE, TABLES, inside

import fedward
from fedward.local import DPSGD
from published import place_of
from support import Record, carry_out, finished, half_width, mnist, parser

RESULTS = "initial_models.jsonl"
ROUNDS = 3
RUNS = ("2:1=40", "2:2.3=300", "2:3=300", "4:1=100", "4:10=100", "4:15=100")


class Task(NamedTuple):
    """One run of a table."""

    table: int
    noise: float
    seed: int


def algorithm(task: Task) -> tuple[fedward.Algorithm, int]:
    """What the table trains with, and how many users it has."""
    if task.table == 2:
        return fedward.presets.user_dp_fedavg(
            num_users=200,
            sampler=fedward.FixedSizeSampler(size=20),
            local=fedward.SGD(learning_rate=0.02, batch_size=60, epochs=10, momentum=0.9, weight_decay=5e-4),
            clip_bound=0.7,
            noise_multiplier=task.noise,
        ), 200
    local = DPSGD(
        learning_rate=0.02,
        probability=50 / 1266,
        expected_batch=50,
        steps=26,
        noise_multiplier=task.noise,
        clip_bound=0.7,
        momentum=0.9,
        weight_decay=5e-4,
    )
    return fedward.presets.insdp_fedavg(num_users=10, sampler=fedward.EveryoneSampler(), local=local), 10


def train(task: Task) -> Record:
    """Test accuracy after the last round of one run."""
    rule, users = algorithm(task)
    federation = mnist(users, (0, 1))
    model = fedward.models.build("mnist_cnn", input_shape=(1, 28, 28), num_classes=2, seed=task.seed)
    backend = fedward.InProcess(model, federation)
    for state, _ in fedward.rounds(rule, model, federation, rounds=ROUNDS, seed=task.seed, backend=backend):
        pass
    assert federation.test is not None
    accuracy = backend.evaluate(state.parameters, federation.test).accuracy
    return {"table": task.table, "noise_multiplier": task.noise, "seed": task.seed, "accuracy": accuracy}


def main() -> None:
    assert __doc__
    made = parser(__doc__)
    made.add_argument("--runs", action="append", metavar="TABLE:σ=N", help="how many runs at which noise")
    made.add_argument("--show", action="store_true", help="only print what is finished")
    options = made.parse_args()
    place = place_of(options, HERE)
    results = place.records(RESULTS)
    done = {Task(r["table"], r["noise_multiplier"], r["seed"]) for r in finished(results)}
    wanted = [
        Task(int(table), float(noise), seed)
        for table, noise, number in (each.replace("=", ":").split(":") for each in options.runs or RUNS)
        for seed in range(int(number))
    ]
    if not options.show:
        carry_out(train, [task for task in wanted if task not in done], results, options.data)

    shown = Table("table", "σ", "paper", "measured", "95 % interval", "deviation of one run", "runs", "in it")
    for table in TABLES:
        for noise, (_, printed) in table.printed.items():
            values = 100 * np.array(
                [
                    r["accuracy"]
                    for r in finished(results)
                    if (r["table"], r["noise_multiplier"]) == (table.number, noise)
                ]
            )
            if len(values) > 1:
                mean, half = float(values.mean()), half_width(values)
                shown.add_row(
                    str(table.number),
                    f"{noise:g}",
                    f"{printed:.2f}",
                    f"{mean:.2f}",
                    f"{mean - half:.2f} to {mean + half:.2f}",
                    f"{values.std(ddof=1):.1f}",
                    str(len(values)),
                    "yes" if inside(printed, mean, half) else "no",
                )
    Console(width=120).print(shown)
    place.publish(RESULTS)


if __name__ == "__main__":
    main()
