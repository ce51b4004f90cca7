"""Table 2 and figure 9 of Miao et al. on MNIST digits: weight decay, and five defences, against one pixel.

    python experiments/miao_digits/run.py [table_2 | figure_9] --data DIR [--seeds 3] [--rounds 150]

100 users, 20 of them attackers, cohorts of 20 with exactly 4 (or 8) attackers, five local epochs, batch 20.
All images of an attacker get the pixel and the label 0. Finished trainings are kept in results.jsonl of
--out, so it can be killed and started again; ``--show`` only prints and draws. ``--small`` is a few rounds of
one seed; ``--full`` is as near to the paper as MNIST allows, 6.5 CPU hours for each training.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "attacks_on_mnist"))  # for one training under attack
from report import show
from settings import settings, spent
from trainings import Training, carry_out, grouped, seeds_and_rounds

from fedward.attacks import Attack, PerCohort
from fedward.attacks.poisoning import SinglePixel
from published import place_of, require_no_smaller

HERE = Path(__file__).parent
ROUNDS = 150
SIZES = {
    "small": "one seed, 10 rounds; kept apart",
    "full": "5 seeds, 300 rounds, 600 digits a user, emnist_cnn, learning rate 0.04; kept apart",
}


def main() -> None:
    assert __doc__
    study = sys.argv.pop(1) if sys.argv[1:2] in (["table_2"], ["figure_9"]) else "both"
    options = seeds_and_rounds(__doc__, seeds=3, rounds=ROUNDS, sizes=SIZES)
    place, size = place_of(options, HERE), ""
    how: dict[str, Any] = {"digits": 150, "every": 10}
    rate = (0.2, 0.99)
    if options.small:
        options.seeds, options.rounds, size = 1, 10, "-small"
    if options.full:
        options.seeds, options.rounds, size = 5, 300, "-full"
        how, rate = {"model": "emnist_cnn", "every": 10}, (0.04, 1.0)

    def tasks(study: str) -> list[Training]:
        return [
            Training(
                name=name,
                seed=seed,
                rounds=options.rounds,
                algorithm=algorithm,
                attack=Attack(who=PerCohort(count=20, each=each), data=(SinglePixel(),)),
                **how,
            )
            for seed in range(options.seeds)
            for name, (algorithm, each) in settings(study, *rate).items()
        ]

    results = place.records(f"results{size}.jsonl")
    carry_out(tasks(study), results, options)
    options.show = True
    # Whatever was asked for, the page and the pictures are about all that is finished.
    found = carry_out(tasks("both"), results, options)
    other = "" if options.rounds == ROUNDS else "-small"
    published = place.publishes and not (size or other)
    if published:
        require_no_smaller(results, HERE / results.name)
    page = HERE / "README.md" if published else None
    show(grouped(found), spent(options.rounds), place.out, size or other, page)
    place.publish(results.name, "table_2.png", "figure_9.png")


if __name__ == "__main__":
    main()
