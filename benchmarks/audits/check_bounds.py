"""fedward's bounds beside those of jax-privacy's auditing module, on the same scores of a Gaussian mechanism.

    python -m venv PEERS && PEERS/bin/pip install jax-privacy
    python benchmarks/audits/check_bounds.py --peers-python PEERS/bin/python

They need not be equal: thresholds and guesses are chosen in other ways. None may lie above ε by much.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fedward.auditing.error_rates import ErrorRates
from fedward.auditing.guess_plan import plan_guesses
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.one_run_bound import one_run_epsilon, right_guesses
from fedward.auditing.one_run_curve import one_run_family_epsilon
from fedward.auditing.rate_bound import least_epsilon
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.weighed_errors import WeighedErrors
from fedward.privacy.accounting_events import GaussianDpEvent

CANARIES, DELTA, ERROR = 2000, 1e-5, 0.05


def main() -> None:
    """Prints both for three amounts of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers-python", required=True, help="a Python with jax-privacy")
    given = parser.parse_args()
    for z in (2.0, 1.0, 0.5):
        rng, each = np.random.default_rng(0), CANARIES // 2
        inside, outside = 1 / z + rng.standard_normal(each), rng.standard_normal(each)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "scores.npz"
            np.savez(file, inside=inside, outside=outside)
            command = [given.peers_python, Path(__file__).parent / "peer_jax_privacy.py", file]
            theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        family = NoiseFamily.of([(GaussianDpEvent(z), 1)], "add/remove", DELTA)
        guesses = plan_guesses([RoundLaw(rate=1.0, times=1, std=z)], CANARIES, DELTA, ERROR)
        scores, truth = np.concatenate([inside, outside]), np.arange(CANARIES) < each
        right = right_guesses(scores, truth, guesses, guesses)
        middle = ErrorRates.of(0.5 / z, inside, outside)
        far = ErrorRates.of(2.0 + 0.5 / z, inside, outside).upper(ERROR)
        ours = {
            "error rates": least_epsilon(*far, DELTA),
            "one run": one_run_epsilon(CANARIES, 2 * guesses, right, DELTA, ERROR),
            "one run, family": one_run_family_epsilon(family, CANARIES, 2 * guesses, right, ERROR),
            "family": family.bound(WeighedErrors(rates=middle, weight=1.0), ERROR),
        }
        print(f"z = {z}, ε = {family.epsilon(1.0):.2f}")
        for (name, bound), (their, other) in zip(ours.items(), theirs.items(), strict=True):
            print(f"  {name}: {bound:.2f}    {their}: {other:.2f}")


if __name__ == "__main__":
    main()
