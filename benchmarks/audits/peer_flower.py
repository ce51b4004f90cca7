"""Rounds of Flower's server-side DP with and without a canary client, for ``audit_peers.py``.

It calls the aggregation of ``DifferentialPrivacyServerSideFixedClipping`` around ``FedAvg`` with results
made here: all clients of a round answer, one of them with an update as long as it likes, the others with
nothing.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import numpy as np
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

CLIENTS, NOISE, CLIP, WIDTH, ROUNDS = 8, 2.0, 1.0, 20, 2


def train(inside: bool, examples: int) -> tuple[list[float], list[float]]:
    """One training; without the canary it answers too, with an update of zero."""
    strategy = DifferentialPrivacyServerSideFixedClipping(
        FedAvg(), noise_multiplier=NOISE, clipping_norm=CLIP, num_sampled_clients=CLIENTS
    )
    along, beside = [], []
    for _ in range(ROUNDS):
        start = [np.zeros(WIDTH, dtype=np.float32)]
        strategy.current_round_params = start
        results: list[tuple[Any, FitRes]] = []
        for client in range(CLIENTS):
            update = np.zeros(WIDTH, dtype=np.float32)
            update[0] = 10.0 * CLIP if inside and client == CLIENTS - 1 else 1e-9  # it divides by the norm
            count = examples if client == CLIENTS - 1 else 10
            answer = ndarrays_to_parameters([update])
            results.append((None, FitRes(Status(Code.OK, ""), answer, count, {})))
        released, _ = strategy.aggregate_fit(1, results, [])
        assert released is not None
        (model,) = parameters_to_ndarrays(released)
        moved = model * CLIENTS / CLIP
        along.append(float(moved[0]))
        beside.append(float(np.linalg.norm(moved[1:])) / (WIDTH - 1) ** 0.5)
    return along, beside


def main() -> None:
    """Writes what was seen: argv has the file, the number of trainings, and the canary's examples."""
    out, runs, examples = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    logging.disable(logging.CRITICAL)
    np.random.seed(1)  # noqa: NPY002 - Flower's noise comes from there
    inside = np.arange(runs) % 2 == 0
    seen = [train(bool(there), examples) for there in inside]
    np.savez(
        out,
        inside=inside,
        direction=np.array([each[0] for each in seen]),
        noise=np.array([each[1] for each in seen]),
        about=np.array([1.0, NOISE, ROUNDS]),
    )


if __name__ == "__main__":
    main()
