"""Membership inference on MNIST: what attacks find against ε, beside what DP allows them to find.

    python experiments/membership/run.py --data DIR

``DIR`` holds ``MNIST/raw``. What is finished is in ``results.jsonl``: a command that was killed goes on.
``--small`` is a short trial that keeps nothing, ``--show`` only prints and draws.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from table import show
from trainings import SETTINGS, Task, attacked

from fedward.privacy.guarantee import Unit
from published import place_of
from support import carry_out, finished, parser

HERE = Path(__file__).parent
SEEDS = 3
NOISE: dict[Unit, tuple[float | None, ...]] = {
    "user": (None, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    "example": (None, 0.5, 1.0, 2.0, 4.0, 8.0),
}


def main() -> None:
    assert __doc__
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=SEEDS)
    options.add_argument("--small", action="store_true", help="2 seeds, 1 target, 4 shadows, 3 noise levels")
    options.add_argument("--show", action="store_true", help="only print and draw what is finished")
    given = options.parse_args()
    place = place_of(given, HERE)
    if given.small:
        tasks = [
            Task(
                unit=unit,
                noise=noise,
                seed=seed,
                setting=replace(size, targets=1, shadows=4),
                data=given.data,
            )
            for seed in range(2)
            for unit, size in SETTINGS.items()
            for noise in (None, 1.0, 8.0)
        ]
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.jsonl"
            carry_out(attacked, tasks, results, given.data)
            show(finished(results), None)
        return
    results = place.records("results.jsonl")
    done = {(record["unit"], record["noise"], record["seed"]) for record in finished(results)}
    # One seed after the other: whatever is finished first can be compared.
    tasks = [
        Task(unit=unit, noise=noise, seed=seed, setting=SETTINGS[unit], data=given.data)
        for seed in range(given.seeds)
        for unit, levels in NOISE.items()
        for noise in levels
        if (unit, noise, seed) not in done
    ]
    if not given.show:
        carry_out(attacked, tasks, results, given.data)
    show(finished(results), place.file("membership.png"))
    place.publish("results.jsonl", "membership.png")


if __name__ == "__main__":
    main()
