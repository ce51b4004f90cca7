"""Sentiment140 by real users, as in Xie et al.: FedAvg, UserDP-FedAvg, and label flipping.

    python experiments/xie_sent140/run.py --data DIR [--seeds 3] [--small] [--show]

DIR holds sent140/users.csv and a file in glove/. Three studies (studies.py): the paper's own setting, 3
rounds of 10 users and 256 units; a smaller model from the start; and attackers, from a model that public
accounts have begun to train (start-*.pt, made here at first). Finished trainings are kept in results.jsonl
of --out, so it can be killed and started again; --show only prints and draws. --small is two rounds
of everything, in files of its own. Two processes with one thread each.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

import fedward
from fedward.attacks import Attack
from fedward.attacks.model_poisoning import Scale
from fedward.attacks.poisoning import LabelFlip
from fedward.attacks.who import RandomUsers
from fedward.backends import measure

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from accounts import accounts, begin, network
from pictures import draw, tables

import support
from published import place_of
from studies import Training, trainings
from support import Record, finished

HERE = Path(__file__).parent
TEST_SHARE = 0.5  # of the test tweets, for the flip; the other half for accuracy


def train(task: tuple[Training, str | None]) -> Record:
    """One training: accuracy on tweets of unseen users, and how many positive ones it takes for negative."""
    began = time.process_time()
    training, data = task
    federation = accounts(training.study, data)
    algorithm = training.algorithm(federation.num_users)
    scaled = () if training.factor == 1 else (Scale(factor=training.factor),)
    # Where nobody attacks the flip is still measured: a clean model makes errors of the same kind.
    staged = Attack(
        who=RandomUsers(count=max(training.attackers, 1)),
        data=(LabelFlip(target=0, source=1),),
        model=scaled,
        test_share=TEST_SHARE,
    ).stage(algorithm, federation, training.seed)
    assert staged.goal is not None
    record: Record = {
        "name": training.name,
        "study": training.study,
        "seed": training.seed,
        "rounds": training.rounds,
        "attackers": training.attackers,
        "factor": training.factor,
        "tweets": len(staged.goal.clean),
        "majority": float(staged.goal.clean.y.float().mean()),
        "flipped_tweets": len(staged.goal.triggered[0][1]),
        "round": [],
    }
    keys = ("accuracy", "loss", "attack_success", "attack_cost")
    record |= {key: [] for key in keys}
    model = network(training, federation, start_file(training))
    backend = fedward.InProcess(model, federation)

    def note(round: int, parameters: torch.Tensor) -> None:
        assert staged.goal is not None
        found = measure(backend, parameters, staged.goal).to_record()
        record["round"].append(round)
        for key in keys:
            record[key].append(found[key])

    note(0, torch.nn.utils.parameters_to_vector(p for p in model.parameters() if p.requires_grad).detach())
    for state, log in fedward.rounds(
        algorithm,
        model,
        federation,
        backend=backend,
        rounds=training.rounds,
        seed=training.seed,
        adversary=staged.adversary if training.attackers else None,
    ):
        if (log.round + 1) % training.every == 0 or log.round + 1 == training.rounds:
            note(log.round + 1, state.parameters)
    return record | {"cpu_seconds": round(time.process_time() - began, 1)}


def start_file(training: Training) -> Path:
    return Path("weights") / f"sent140-start-{training.seed}.pt"


def main() -> None:
    made = support.parser(__doc__)
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--small", action="store_true", help="two rounds of everything")
    made.add_argument("--show", action="store_true", help="only show what is finished")
    options = made.parse_args()
    place = place_of(options, HERE)
    small = "-small" if options.small else ""
    results = place.records(f"results{small}.jsonl")
    wanted = list(trainings(1 if options.small else options.seeds))
    if options.small:
        wanted = [replace(training, rounds=2) for training in wanted]
    if not options.show:
        torch.set_num_threads(1)
        done = {(r["name"], r["seed"], r["rounds"]) for r in finished(results)}
        left = [t for t in wanted if (t.name, t.seed, t.rounds) not in done]
        for training in left:
            if training.study == "begun" and not start_file(training).exists():
                start_file(training).parent.mkdir(parents=True, exist_ok=True)
                begin(training, options.data, start_file(training))
        support.carry_out(train, [(training, options.data) for training in left], results, options.data)
    records = finished(results)
    tables(records)
    draw(records, place.file(f"results{small}.png"))
    place.publish(results.name, "results.png")


if __name__ == "__main__":
    main()
