"""Private training as people take part: accuracy at the same ε, on writers and on generated users.

    python experiments/participation/run.py --data DIR [--seeds 5] [--replicas 64] [--only writers] [--small]

Four ways to the same (ε, δ = 1e-5), add/remove, with cohorts of the same expected size: Poisson sampling
with noise of its own in every round; dp_ftrl, whose users take turns and whose noise is correlated; dp_ftrl
that is amplified, with half as many groups of which half is drawn in secret; and random allocation, each user
in one random round of an epoch. Two federations: MNIST by its 539 writers, and 100,000 generated users.
Logistic regression. And certified accuracy against k of the first two, with the noise of ε = 1.
Finished trainings are kept in results.jsonl of --out, so it can be killed and started again.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

import fedward
from fedward.certificates.certified import certify_setting
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.setting import Setting
from fedward.core.algorithm import Algorithm
from fedward.privacy import noise_for

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from published import Place, place_of
from support import (
    Record,
    carry_out,
    data_folder,
    finished,
    half_width,
    interval,
    prepare,
    seeds_and_rounds,
)

HERE = Path(__file__).parent
RESULTS, CERTIFIED = "results.jsonl", "certified.json"
EPSILONS, DELTA = (1.0, 2.0, 4.0, 8.0), 1e-5
# A cohort is one of so many parts of all users. Generated users take part once, writers twice.
GROUPS = {"writers": 8, "generated": 16}
CERTIFIED_FOR, CERTIFIED_ON = 1.0, 1_000
USERS = {"writers": 539, "generated": 100_000}
NOUNS = {"writers": "writers of MNIST", "generated": "generated users"}
SMALL = {"writers": 539, "generated": 2_000}
LOCAL = {
    "writers": fedward.SGD(learning_rate=0.1, batch_size=20, epochs=1, momentum=0.9),
    "generated": fedward.SGD(learning_rate=0.5, batch_size=20, epochs=2, momentum=0.9),
}
CLIP = {"writers": 1.0, "generated": 2.0}
SERVER = {
    "writers": fedward.ServerStep(),
    "generated": fedward.ServerMomentum(learning_rate=6.0, momentum=0.0),
}


def poisson(name: str, users: int, rounds: int, z: float) -> Algorithm:
    return drawn(name, users, z, fedward.PoissonSampler(rate=1 / GROUPS[name]))


def allocated(name: str, users: int, rounds: int, z: float) -> Algorithm:
    return drawn(name, users, z, fedward.RandomAllocation(epoch=GROUPS[name]))


def drawn(name: str, users: int, z: float, sampler: Any) -> Algorithm:
    return fedward.presets.user_dp_fedavg(
        num_users=users,
        sampler=sampler,
        local=LOCAL[name],
        clip_bound=CLIP[name],
        noise_multiplier=z,
        server=SERVER[name],
    )


def banded(name: str, users: int, rounds: int, z: float, *, there: float = 1.0) -> Algorithm:
    return fedward.presets.dp_ftrl(
        num_users=users,
        local=LOCAL[name],
        rounds=rounds,
        separation=round(GROUPS[name] * there),
        clip_bound=CLIP[name],
        noise_multiplier=z,
        there=there,
        amplified=there < 1,
        server=SERVER[name],
    )


WAYS: dict[str, Callable[[str, int, int, float], Algorithm]] = {
    "Poisson": poisson,
    "dp_ftrl": banded,
    "dp_ftrl, amplified": functools.partial(banded, there=0.5),
    "random allocation": allocated,
}


def calibrated(name: str, users: int, way: str, rounds: int, epsilon: float) -> Algorithm:
    """The algorithm with the least noise that spends at most ε."""
    make = functools.partial(WAYS[way], name, users, rounds)
    charges = {"Poisson": rounds, "random allocation": -(-rounds // GROUPS[name])}.get(way, 1)
    z = noise_for(epsilon, DELTA, lambda z: make(z).round_event(users, 0), charges, "pld", "add/remove")
    return make(z)


@functools.cache
def federation_of(name: str, users: int) -> fedward.Federation:
    if name == "writers":
        return fedward.datasets.mnist.load(data_dir=data_folder(), split="natural", seed=0)
    return fedward.datasets.synthetic.load(
        users=users, examples=8, features=30, classes=10, test_examples=4_000, seed=0
    )


@dataclass(frozen=True, kw_only=True)
class Task:
    """One training; with ``scores`` a replica, whose scores on some test digits are kept."""

    federation: str
    users: int
    way: str
    target: float
    algorithm: Algorithm
    rounds: int
    seed: int = 0
    replica: int = 0
    scores: Path | None = None

    @property
    def name(self) -> str:
        kind = f"replica {self.replica} of " if self.scores is not None else ""
        return f"{kind}{self.federation}, {self.way}, ε = {self.target:g}, {self.rounds} rounds"


def train(task: Task) -> Record:
    """One training: its accuracy in the end."""
    federation = federation_of(task.federation, task.users)
    shape = tuple(federation.roster.input_shape)
    model = fedward.models.build("logistic_regression", input_shape=shape, num_classes=10, seed=task.seed)
    backend = fedward.InProcess(model, federation)
    assert federation.test is not None
    state: Any = None
    for state, _ in fedward.rounds(
        task.algorithm,
        model,
        federation,
        rounds=task.rounds,
        seed=task.seed,
        replica=task.replica,
        backend=backend,
    ):
        pass
    if task.scores is not None:
        some = federation.test.span(0, CERTIFIED_ON)
        (confidences,) = backend.confidences([state.parameters], some)
        np.save(task.scores, confidences)
    return {
        "name": task.name,
        "federation": task.federation,
        "users": federation.num_users,
        "way": task.way,
        "target": task.target,
        "seed": task.seed,
        "replica": None if task.scores is None else task.replica,
        "rounds": task.rounds,
        "noise_multiplier": task.algorithm.mechanism.multiplier,
        "epsilon": state.ledger.guarantee(DELTA, "pld").epsilon,
        "accuracy": backend.evaluate(state.parameters, federation.test).accuracy,
    }


def certify(place: Place, tasks: list[Task], replicas: int) -> list[Record]:
    """Certified accuracy against k of the two ways that have certificates, by who may come when."""
    found = []
    for way, attendances in (("Poisson", ("drawn", "every-round")), ("dp_ftrl", ("drawn",))):
        own = [task for task in tasks if task.way == way][:replicas]
        if len(own) < 2 or not all(task.scores and task.scores.exists() for task in own):
            continue
        federation = federation_of(own[0].federation, own[0].users)
        assert federation.test is not None
        scores = Replicas(
            scores=np.stack([np.load(task.scores) for task in own if task.scores]),
            numbers=np.arange(len(own)),
            seed=0,
            labels=federation.test.span(0, CERTIFIED_ON).y.numpy(),
        ).votes()
        for attendance in attendances:
            setting = Setting(
                ledger=own[0].algorithm.planned_ledger(own[0].users, own[0].rounds),
                users=own[0].users,
                confidence=Confidence(looks=(len(own),)),
                delta=DELTA,
                initial_model="logistic regression, seed 0",
                data=own[0].federation,
                threats=("inject",),
                attendance=attendance,
            )
            curves = certify_setting(setting, scores).curves
            about = {"way": way, "attendance": attendance, "replicas": len(own)}
            found += [
                about | {"sure": curve.sure, "accuracy": list(curve.accuracy)}
                for curve in curves
                if curve.mode == "inject"
            ]
    return found


def show(records: list[Record], certified: list[Record], place: Place) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    table = Table("federation", "ε at most", *WAYS, "seeds")
    names = list(dict.fromkeys(record["federation"] for record in records))
    figure, axes = plt.subplots(
        1, len(names) + 1, figsize=(5.2 * len(names) + 5.2, 4), layout="constrained", squeeze=False
    )
    for name, axis in zip(names, axes[0], strict=False):
        cells: dict[tuple[str, float], list[float]] = {}
        for record in records:
            if record["federation"] == name:
                cells.setdefault((record["way"], record["target"]), []).append(record["accuracy"])
        for way in WAYS:
            points = [(ε, np.array(cells[way, ε])) for ε in EPSILONS if (way, ε) in cells]
            means = [100 * values.mean() for _, values in points]
            widths = [100 * half_width(values) if len(values) > 1 else 0.0 for _, values in points]
            axis.errorbar([ε for ε, _ in points], means, yerr=widths, marker="o", capsize=3, label=way)
        most = max(record["users"] for record in records if record["federation"] == name)
        title = f"{most:,} {NOUNS[name]}"
        axis.set(xscale="log", xlabel="ε at δ = 1e-5", title=title, xticks=EPSILONS)
        axis.set_xticklabels([f"{ε:g}" for ε in EPSILONS])
        axis.minorticks_off()
        for epsilon in EPSILONS:
            found = [cells.get((way, epsilon), []) for way in WAYS]
            seeds = {len(each) for each in found}
            table.add_row(
                name, f"{epsilon:g}", *(interval(each) if each else "-" for each in found), str(max(seeds))
            )
    axes[0][0].set_ylabel("test accuracy, % (95 % interval over seeds)")
    axes[0][0].legend()
    draw_certified(certified, axes[0][-1])
    figure.savefig(place.file("accuracy.png"), dpi=130)
    Console(width=120).print(table)


ASSUMES = {
    ("Poisson", "drawn"): "Poisson, attackers drawn like everybody",
    ("Poisson", "every-round"): "Poisson, attackers in every round",
    ("dp_ftrl", "drawn"): "dp_ftrl, attackers when they like within the schema",
}


def draw_certified(certified: list[Record], axis: Any) -> None:
    for key, words in ASSUMES.items():
        for each in certified:
            if (each["way"], each["attendance"]) == key and each["sure"]:
                shares = [100 * share for share in each["accuracy"]] + [0.0]
                axis.step(range(len(shares)), shares, where="post", marker=".", label=words)
    axis.set(
        xlabel="k attackers who join", ylabel="certified accuracy, %", title="writers, noise of ε = 1", ylim=0
    )
    axis.legend(fontsize="small")


def own_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("--replicas", type=int, default=64, help="M, trainings for each certificate")
    made.add_argument("--only", choices=list(USERS), help="one of the two federations")


def main() -> None:
    options = seeds_and_rounds(
        __doc__,
        seeds=5,
        rounds=16,
        sizes={"small": "2,000 generated users, two seeds, 8 replicas"},
        more=own_options,
    )
    place = place_of(options, HERE)
    if options.small:
        options.seeds = min(options.seeds, 2)
        options.replicas = min(options.replicas, 8)
    users = {
        name: n for name, n in (SMALL if options.small else USERS).items() if options.only in (None, name)
    }

    def made(name: str, way: str, epsilon: float) -> Task:
        algorithm = calibrated(name, users[name], way, options.rounds, epsilon)
        return Task(
            federation=name,
            users=users[name],
            way=way,
            target=epsilon,
            algorithm=algorithm,
            rounds=options.rounds,
        )

    def replicas_of(task: Task) -> list[Task]:
        files = [place.file(f"scores/{task.way}-{task.rounds}-{m}.npy") for m in range(options.replicas)]
        return [replace(task, replica=number, scores=file) for number, file in enumerate(files)]

    place.file("scores").mkdir(exist_ok=True)
    cells = [(name, way, ε) for name in users for way in WAYS for ε in EPSILONS]
    certified_cells = [
        ("writers", way, CERTIFIED_FOR) for way in ("Poisson", "dp_ftrl") if "writers" in users
    ]
    if options.show:
        cells = certified_cells
    tasks = {cell: made(*cell) for cell in track(cells, "calibrating")}
    replicas = [each for cell in certified_cells for each in replicas_of(tasks[cell])]
    if not options.show:
        # Writers first: they take minutes. Then seed by seed, so that what is there is even.
        seeds = range(options.seeds)
        of = {
            name: [
                replace(task, seed=seed) for seed in seeds for cell, task in tasks.items() if cell[0] == name
            ]
            for name in USERS
        }
        known = {(record["name"], record["seed"]) for record in finished(place.records(RESULTS))}
        all_tasks = (*of["writers"], *replicas, *of["generated"])
        torch.set_num_threads(1)
        carry_out(
            train,
            [task for task in all_tasks if (task.name, task.seed) not in known],
            place.file(RESULTS),
            options.data,
            options.processes,
        )
    done = [
        each
        for each in finished(place.records(RESULTS))
        if each["rounds"] == options.rounds and each["replica"] is None and each["federation"] in users
    ]
    prepare(options.data)
    published = place.records(CERTIFIED)
    certified = certify(place, replicas, options.replicas)
    if certified:
        place.file(CERTIFIED).write_text(json.dumps(certified, indent=1) + "\n")
    elif published.exists():
        certified = json.loads(published.read_text())
    show(done, certified, place)
    place.publish(RESULTS, CERTIFIED, "accuracy.png")


if __name__ == "__main__":
    main()
