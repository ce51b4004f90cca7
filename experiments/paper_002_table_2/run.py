"""Table 2 of paper 002: clean accuracy of UserDP-FedAvg on MNIST 0/1 against the noise.

    python experiments/paper_002_table_2/run.py --data DIR [--runs 1.0=40 --runs 2.3=300 --runs 3.0=300]

Every run has its own initial model, cohorts, shuffles and noise; the split of the data is the same. Finished
runs are kept in results.jsonl beside this file, so it can be killed and started again, or asked for more
runs. Two processes with one thread each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fedward

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from support import Record, measured, mnist, noise_table

PAPER = {0.5: 99.72, 0.6: 99.69, 0.8: 99.71, 1.0: 99.59, 1.5: 98.86, 1.8: 97.42, 2.3: 89.15, 3.0: 72.79}
USERS, COHORT, ROUNDS = 200, 20, 3


def accuracy(task: tuple[float, int]) -> Record:
    """Test accuracy after the last round of one run."""
    noise, seed = task
    algorithm = fedward.presets.user_dp_fedavg(
        num_users=USERS,
        sampler=fedward.FixedSizeSampler(size=COHORT),
        local=fedward.SGD(learning_rate=0.02, batch_size=60, epochs=10, momentum=0.9, weight_decay=5e-4),
        clip_bound=0.7,
        noise_multiplier=noise,
    )
    return measured(algorithm, mnist(USERS, (0, 1)), noise=noise, seed=seed, rounds=ROUNDS)


if __name__ == "__main__":
    noise_table(
        __doc__,
        accuracy,
        paper=PAPER,
        runs=["1.0=40", "2.3=300", "3.0=300"],
        results=Path(__file__).with_name("results.jsonl"),
    )
