"""Table 3 of Miao et al.: property inference on LFW with 2 to 10 users, undefended, under DP and under CND.

    python experiments/miao_table_3/run.py --data DIR

``DIR`` holds ``lfw/lfw48.npz``. Finished trainings are in ``results.jsonl``: a command that was killed goes
on. ``--small`` is a short trial that keeps nothing, ``--show`` only prints and draws.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from table import show
from trainings import Setting, Task, attacked

from published import add_place_options, place_of
from support import carry_out, finished

HERE = Path(__file__).parent
SEEDS = 3
DEFENCES = {"none": (2, 3, 4, 5, 10), "DP": (2, 3, 4, 5), "CND": (2, 3, 4, 5)}


def main() -> None:
    assert __doc__
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", help="where lfw/lfw48.npz lies; else FEDWARD_DATA")
    add_place_options(options)
    options.add_argument("--seeds", type=int, default=SEEDS)
    options.add_argument("--small", action="store_true", help="2 and 5 users, 20 rounds, 2 seeds")
    options.add_argument("--show", action="store_true", help="only print and draw what is finished")
    given = options.parse_args()
    place = place_of(given, HERE)
    if given.small:
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.jsonl"
            tasks = [
                Task(defence=defence, users=users, seed=seed, setting=Setting(rounds=20), data=given.data)
                for seed in range(2)
                for defence in DEFENCES
                for users in (2, 5)
            ]
            carry_out(attacked, tasks, results)
            show(finished(results), None)
        return
    results = place.records("results.jsonl")
    done = {(record["defence"], record["users"], record["seed"]) for record in finished(results)}
    # One seed after the other: whatever is finished first can be compared.
    tasks = [
        Task(defence=defence, users=users, seed=seed, setting=Setting(), data=given.data)
        for seed in range(given.seeds)
        for defence, sizes in DEFENCES.items()
        for users in sizes
        if (defence, users, seed) not in done
    ]
    if not given.show:
        carry_out(attacked, tasks, results)
    show(finished(results), place.file("auc.png"))
    place.publish("results.jsonl", "auc.png")


if __name__ == "__main__":
    main()
