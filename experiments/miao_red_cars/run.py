"""Red cars are birds: tables 1 and 2 and figures 2, 6 and 7 of Miao et al., at a size that two cores can do.

    python experiments/miao_red_cars/run.py --data DIR --weights DIR [--seeds 4] [--rounds 6]

Ten of 100 users are in a round, a Dirichlet split, half a local epoch. The attackers act on the three models
of warm_up.py in turn, which have never seen a red car. Three studies: attackers poison their data in every
round; the same with weight decay; attackers replace the model in two chosen rounds, without defence, under
central DP (CDP) and under clip norm decay (CND). Finished trainings are kept in results.jsonl of --out, so it
can be killed and started again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from report import show
from trainings import HERE, USERS, Training, model_of, options_of, red_cars, train

import fedward
from fedward.attacks import Attack
from fedward.attacks.model_poisoning import TrainAndScale
from fedward.core.algorithm import Algorithm
from published import place_of
from support import carry_out, finished, grouped

RESULTS = "results.jsonl"
COHORT, DELTA, WARM = 10, 1e-5, 3
SAMPLER = fedward.FixedSizeSampler(size=COHORT)
LOCAL = fedward.SGD(learning_rate=0.02, batch_size=20, steps=12, momentum=0.9)
OWN = replace(LOCAL, steps=50)
ATTACKED = (1, 4)
CLIPPED: dict[str, Any] = {"num_users": USERS, "sampler": SAMPLER, "local": LOCAL}
presets = fedward.presets

NOISE = (4.0, 14.0)


def fedavg(decay: float = 0.0) -> Algorithm:
    return presets.fedavg(sampler=SAMPLER, local=replace(LOCAL, weight_decay=decay))


def defences() -> dict[str, Algorithm]:
    made = {"none": fedavg()}
    for z in NOISE:
        made[f"CDP, z = {z:g}"] = presets.central_dp(**CLIPPED, clip_bound=0.05, noise_multiplier=z)
        made[f"CND, z = {z:g}"] = presets.clip_norm_decay(
            **CLIPPED, initial_bound=0.05, decay=0.99, noise_multiplier=z, look_noise=3.5
        )
    return made


def replacement(each: int) -> Attack:
    """Attackers train four times as long as the others and scale so that they decide the mean together."""
    how = TrainAndScale(local=OWN, factor=COHORT / each)
    return red_cars(each, model=(how,), rounds=ATTACKED)


def settings() -> dict[str, tuple[Algorithm, Attack]]:
    """All settings by name, the most wanted first."""
    made = {f"data, {each} of 10": (fedavg(), red_cars(each)) for each in (4, 0, 2)}
    made["data, 4 of 10, rate 0.5"] = fedavg(), red_cars(4, rate=0.5)
    made["replacement, 1 of 10, none"] = fedavg(), replacement(1)
    for defence, algorithm in defences().items():
        made[f"replacement, 4 of 10, {defence}"] = algorithm, replacement(4)
    made["data, 1 of 10"] = fedavg(), red_cars(1)
    for decay in (5e-3, 5e-2):
        made[f"data, 4 of 10, weight decay {decay:g}"] = fedavg(decay), red_cars(4)
    made["replacement, 4 of 10, norm bounding, S = 1"] = (
        presets.norm_bounding(**CLIPPED, clip_bound=1.0),
        replacement(4),
    )
    return made


def tasks(seeds: int, rounds: int, weights: Path, data: str | None) -> list[Training]:
    return [
        Training(
            name=name,
            seed=seed,
            rounds=rounds,
            algorithm=algorithm,
            attack=attack,
            weights=model_of(weights, seed % WARM),
            data=data,
            later=1_000,
        )
        for seed in range(seeds)
        for name, (algorithm, attack) in settings().items()
    ]


def spent(name: str, rounds: int) -> str:
    """ε of these rounds as the papers account for it, and with a proof for cohorts of fixed size."""
    algorithm = settings()[name][0]
    if algorithm.unproven:
        return "no guarantee"
    values = (algorithm.guarantee(USERS, rounds, DELTA, mode).epsilon for mode in ("moments", "rdp"))
    return " / ".join(f"{value:.2f}" for value in values)


def main() -> None:
    options = options_of(__doc__, seeds=4, rounds=6)
    place = place_of(options, HERE)
    results = place.records(RESULTS)
    if not options.show:
        done = {(r["name"], r["seed"], r["rounds"], r["settings"]) for r in finished(results)}
        wanted = tasks(options.seeds, options.rounds, options.weights, options.data)
        left = [task for task in wanted if (task.name, task.seed, task.rounds, task.digest) not in done]
        carry_out(train, left, results)
    records = [record for record in finished(results) if record["rounds"] == options.rounds]
    groups = {name: found for name in settings() if (found := grouped(records).get(name))}
    picture = place.file("red_cars.png")
    show(groups, {name: spent(name, options.rounds) for name in groups}, ATTACKED, picture)
    place.publish(RESULTS, picture.name)


if __name__ == "__main__":
    main()
