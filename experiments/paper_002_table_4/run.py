"""Table 4 of paper 002: clean accuracy of InsDP-FedAvg on MNIST 0/1 against the noise.

    python experiments/paper_002_table_4/run.py --data DIR [--runs 1=100 --runs 10=100 --runs 15=100]

10 users, all in every round, 3 rounds of 26 steps of DP-SGD with batches p = 50/1266 (the paper says 25
steps; its ε are those of 26). Every run has its own initial model, batches and noise; the split of the data
is the same. Finished runs are kept in results.jsonl beside this file, so it can be killed and started again,
or asked for more runs. Two processes with one thread each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fedward
from fedward.local import DPSGD

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from support import Record, measured, mnist, noise_table

PAPER = {1.0: 99.73, 2.0: 99.73, 3.0: 99.70, 4.0: 99.65, 5.0: 99.57, 8.0: 97.99, 10.0: 93.30, 15.0: 77.12}
USERS, ROUNDS = 10, 3


def accuracy(task: tuple[float, int]) -> Record:
    """Test accuracy after the last round of one run."""
    noise, seed = task
    algorithm = fedward.presets.insdp_fedavg(
        num_users=USERS,
        sampler=fedward.EveryoneSampler(),
        local=DPSGD(
            learning_rate=0.02,
            probability=50 / 1266,
            expected_batch=50,
            steps=26,
            noise_multiplier=noise,
            clip_bound=0.7,
            momentum=0.9,
            weight_decay=5e-4,
        ),
    )
    return measured(algorithm, mnist(USERS, (0, 1)), noise=noise, seed=seed, rounds=ROUNDS)


if __name__ == "__main__":
    noise_table(
        __doc__,
        accuracy,
        paper=PAPER,
        runs=["1=100", "10=100", "15=100"],
        results=Path(__file__).with_name("results.jsonl"),
    )
