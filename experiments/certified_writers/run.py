"""How many of the 539 writers of MNIST may be attackers, at which accuracy?

    python experiments/certified_writers/run.py --data DIR [--replicas 2000]

Trainings are kept in runs/ and gone on with after a kill. The published certificate is beside this file:

    fedward certificate check experiments/certified_writers/certificate.json.gz
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import fedward, keep, options, varied

from published import place_of

HERE = Path(__file__).parent
NOISE = (3.0, 5.0, 8.0)
KEPT = "noise_multiplier=5"

if __name__ == "__main__":
    chosen = options(__doc__, replicas=2000)
    place = place_of(chosen, HERE)
    # The trainings of the first round are the same in all replicas: large blocks repeat them less often.
    more = ("--score", "vote", "--save-space", "--block", "250")
    axes = varied("algorithm.noise_multiplier", NOISE)
    run = fedward("certify", HERE / "writers.toml", chosen, "certified-writers", *axes, *more)
    scores = f"certificate-scores-{KEPT}.npz"
    keep(
        run,
        {
            "certified.json": "certified.json",
            "certified_accuracy.png": "certified_accuracy.png",
            scores: scores,
        },
        place.out,
    )
    packed = gzip.compress((run / f"certificate-{KEPT}.json").read_bytes(), mtime=0)
    place.file("certificate.json.gz").write_bytes(packed)
    place.publish("certified.json", "certified_accuracy.png", scores, "certificate.json.gz")
