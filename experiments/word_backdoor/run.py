"""The word backdoor of Naseri et al. on real bloggers, under clipping, a little noise and user-level DP.

    python experiments/word_backdoor/run.py --data DIR [--seeds 3] [--rounds 8] [--small] [--show]

DIR holds blogs/users.jsonl and a file in glove/. All trainings start from one model, trained here once on
other bloggers who are taken as public (start.pt, 2 MB, made here at first); then 500 bloggers train on, some
of whom plant the three sentences about London. Finished trainings are kept in results.jsonl of --out, so it
can be killed and started again; --show only prints and draws. --small is a few rounds of few users, in files
of its own. Two processes with one thread each.
"""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

import fedward
from fedward.attacks import Attack
from fedward.attacks.model_poisoning import Scale
from fedward.attacks.poisoning import WordBackdoor
from fedward.attacks.who import RandomUsers
from fedward.backends import measure

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from bloggers import SIZE, Size, bloggers, model, start
from defences import DEFENCES, FACTOR
from pictures import draw, tables

import support
from published import place_of
from support import Record, finished

HERE = Path(__file__).parent
CELLS = [
    *(("none", count) for count in (0, 50, 10, 150)),
    *((defence, 150) for defence in DEFENCES if defence != "none"),
    *((defence, 50) for defence in DEFENCES if defence != "none"),
    *((defence, 0) for defence in ("user DP, z = 1", "user DP, z = 3")),
]
"""Defences and numbers of attackers, in the order in which they are trained for each seed."""
LONG = [(defence, 150) for defence in ("norm bounding", "user DP, z = 1")]
"""Trained three times as long, for one seed: does clipping stop the attack, or only slow it down?"""

Task = tuple[str, int, int, Size, str | None]


def train(task: Task) -> Record:
    """One training: word accuracy and loss, attack success and cost, sentence by sentence."""
    began = time.process_time()
    defence, attackers, seed, size, data = task
    federation = bloggers(size, data).federation
    algorithm = DEFENCES[defence](size)
    # Where nobody attacks somebody is named and then left out: the triggers are tried on every model.
    count = max(attackers * size.users // SIZE.users, 1)
    staged = Attack(
        who=RandomUsers(count=count), data=(WordBackdoor(),), model=(Scale(factor=FACTOR),)
    ).stage(algorithm, federation, seed)
    network = model(federation, seed=0)
    network.load_state_dict(torch.load(start_file(size), weights_only=True))
    backend = fedward.InProcess(network, federation)
    adversary = staged.adversary if attackers else None
    for state, _ in fedward.rounds(
        algorithm, network, federation, backend=backend, rounds=size.rounds, seed=seed, adversary=adversary
    ):
        pass
    assert staged.goal is not None
    found = measure(backend, state.parameters, staged.goal).to_record()
    # Each sentence alone stands first among the triggered examples: Naseri et al. say no more than these.
    alone = staged.goal.triggered[0][1].select(torch.arange(3))
    return {
        "name": f"{defence}, {attackers} attack, {size.rounds} rounds",
        "defence": defence,
        "attackers": attackers,
        "seed": seed,
        "rounds": size.rounds,
        "accuracy": found["accuracy"],
        "loss": found["loss"],
        "attack_success": found["attack_success"],
        "attack_cost": found["attack_cost"],
        "triggers": len(staged.goal.triggered[0][1]),
        "clean_examples": len(staged.goal.clean),
        "alone": backend.evaluate(state.parameters, alone).accuracy,
        "moved": float((state.parameters - flat(network)).norm()),
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def planned(size: Size, seeds: int, data: str | None) -> list[Task]:
    """In the order of their importance: what is killed early loses the least."""
    by_seed = [[(*cell, seed, size, data) for cell in CELLS] for seed in range(seeds)]
    long = [(*cell, 0, replace(size, rounds=3 * size.rounds), data) for cell in LONG]
    return [task for tasks in (*by_seed[:2], long, *by_seed[2:]) for task in tasks]


def key(task: Task) -> tuple[str, int, int, int]:
    defence, attackers, seed, size, _ = task
    return defence, attackers, seed, size.rounds


def flat(network: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters() if p.requires_grad])


def start_file(size: Size) -> Path:
    """Where the model lies that all trainings start from."""
    return Path("weights") / ("word-backdoor-small.pt" if size.small else "word-backdoor.pt")


def main() -> None:
    made = support.parser(__doc__)
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--rounds", type=int, default=SIZE.rounds)
    made.add_argument("--small", action="store_true", help="few rounds of few users")
    made.add_argument("--show", action="store_true", help="only show what is finished")
    options = made.parse_args()
    place = place_of(options, HERE)
    size = Size.few() if options.small else Size(rounds=options.rounds)
    small = "-small" if options.small else ""
    results = place.records(f"results{small}.jsonl")
    if not options.show:
        torch.set_num_threads(1)
        if not start_file(size).exists():
            start_file(size).parent.mkdir(parents=True, exist_ok=True)
            start(size, options.data, start_file(size))
        shutil.copyfile(start_file(size).with_suffix(".json"), place.file("start.json"))
        done = {(r["defence"], r["attackers"], r["seed"], r["rounds"]) for r in finished(results)}
        tasks = [task for task in planned(size, options.seeds, options.data) if key(task) not in done]
        support.carry_out(train, tasks, results, options.data)
    records = finished(results)
    tables(records, size)
    draw(
        [r for r in records if r["rounds"] == size.rounds],
        place.file(f"results{small}.png"),
    )
    place.publish(results.name, "results.png", "start.json")


if __name__ == "__main__":
    main()
