"""Audits of DP-SGD by Opacus and of Flower's DP wrapper, by a small adapter each.

    python -m venv PEERS && PEERS/bin/pip install opacus flwr
    python benchmarks/audits/audit_peers.py --peers-python PEERS/bin/python

The adapters run there and write what a training showed; the statistics are fedward's. What is compared
with is not a number that these libraries print, but the Gaussian mechanism that their noise multiplier
stands for.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fedward.auditing.foreign_trainings import audit_trainings
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.privacy.accounting_events import DpEvent, GaussianDpEvent, PoissonSampledDpEvent

HERE = Path(__file__).parent
PEERS = {
    "Opacus DP-SGD, N held": ("peer_opacus.py", "held"),
    "Opacus DP-SGD, N follows the data": ("peer_opacus.py", "follows"),
    "Flower, all clients own 10 examples": ("peer_flower.py", "10"),
    "Flower, the canary says it owns 1,000": ("peer_flower.py", "1000"),
}


def main() -> None:
    """Prints a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers-python", required=True, help="a Python with opacus and flwr")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    for name, (script, how) in PEERS.items():
        if given.only and not any(word in name for word in given.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "seen.npz"
            subprocess.run([given.peers_python, HERE / script, out, str(given.runs), how], check=True)
            with np.load(out) as file:
                rate, noise, rounds = file["about"].tolist()
                tables = {"direction of the canary": file["direction"], "level of noise": file["noise"]}
                seen = SeenTrainings(inside=file["inside"], tables=tables)
        event: DpEvent = GaussianDpEvent(noise)
        if rate < 1:
            event = PoissonSampledDpEvent(rate, event)
        family = NoiseFamily.of([(event, int(rounds))], "add/remove", 1e-5)
        law = RoundLaw(rate=rate, times=1, std=noise)
        found = audit_trainings(seen, family, (law,) * int(rounds))
        numbers = (found.claimed, found.by_rates, found.by_family, found.estimate)
        row = " | ".join(f"{each:.2f}" for each in numbers)
        print(f"| {name} | {row} | {given.runs} | {found.verdict} | {found.attack} |", flush=True)


if __name__ == "__main__":
    main()
