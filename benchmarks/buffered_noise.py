"""Buffered strategies (BLT) and their sensitivity beside those of jax-privacy, in a Python of its own.

    python benchmarks/buffered_noise.py --jax-python PATH   # a Python that has jax-privacy

Of each number of rounds, participations, separation and buffers: the sensitivity and the error of our
strategy, by our formulas and by theirs, and the error of the best strategy that jax-privacy finds itself. It
ends with 1 if formulas differ by more than a relative 1e-6, or if theirs is better than ours by a hundredth.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys

from fedward.mechanisms.banded_strategy import Workload
from fedward.mechanisms.buffered_strategy import buffered_error, optimise_buffers
from fedward.privacy.participation import Participation

GRID = ((64, 1, 64, 2), (64, 4, 16, 1), (200, 2, 100, 2), (200, 2, 100, 3), (1000, 4, 250, 3))

THEIRS = """
import json, sys
import jax
jax.config.update("jax_enable_x64", True)
from jax_privacy.matrix_factorization import buffered_toeplitz as blt, toeplitz
found = []
for rounds, most, separation, buffers, weights, decays in json.loads(sys.argv[1]):
    def measured(c):
        coefs = c.toeplitz_coefs(rounds)
        moved = toeplitz.minsep_sensitivity_squared(coefs, separation, most, skip_checks=True)
        error = toeplitz.per_query_error(noising_coef=toeplitz.inverse_coef(coefs)).mean()
        return float(moved) ** 0.5, float(error * moved / most) ** 0.5
    ours = measured(blt.BufferedToeplitz.build(buf_decay=decays, output_scale=weights))
    best = blt.optimize(n=rounds, min_sep=separation, max_participations=most, error="mean",
                        min_buffers=buffers, max_buffers=buffers)
    found.append([*ours, measured(best)[1]])
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jax-python", required=True, help="a Python that has jax-privacy")
    schemas = [Participation(most=most, separation=separation) for _, most, separation, _ in GRID]
    ours = [
        optimise_buffers(Workload(rounds=each[0]), schema, each[3])
        for each, schema in zip(GRID, schemas, strict=True)
    ]
    asked = json.dumps([[*each, c.weights, c.decays] for each, c in zip(GRID, ours, strict=True)])
    command = [parser.parse_args().jax_python, "-c", THEIRS, asked]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"{'T':>6}{'r':>3}{'b':>5}{'buffers':>8}{'Δ':>11}{'theirs':>11}{'error':>11}{'theirs':>11}"
        f"{'their best':>12}"
    )
    bad = 0
    for (rounds, most, separation, buffers), schema, c, (Δ, error, best) in zip(
        GRID, schemas, ours, theirs, strict=True
    ):
        moved, own = c.sensitivity(rounds, schema), buffered_error(Workload(rounds=rounds), schema, c)
        bad += not (math.isclose(moved, Δ, rel_tol=1e-6) and math.isclose(own, error, rel_tol=1e-6))
        bad += own > 1.01 * best
        print(
            f"{rounds:6}{most:3}{separation:5}{buffers:8}{moved:11.6f}{Δ:11.6f}{own:11.6f}{error:11.6f}{best:12.6f}"
        )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
