"""How many of 479 writers may be attackers, if 60 others have shown their digits, without labels, before?

    python experiments/public_features/run.py --data DIR [--replicas 10000] [--small]

Trainings are kept in runs/ and gone on with after a kill. The published certificate is beside this file:

    fedward certificate check experiments/public_features/certificate.json.gz
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import fedward, keep, options

from published import place_of

HERE = Path(__file__).parent
FILES = ("certified.json", "certified_accuracy.png", "certificate-scores.npz")

if __name__ == "__main__":
    chosen = options(__doc__, replicas=10_000)
    if chosen.small:
        chosen.replicas = min(chosen.replicas, 500)
    place = place_of(chosen, HERE)
    more = ("--score", "vote", "--simultaneous", "--save-space")
    run = fedward("certify", HERE / "writers.toml", chosen, f"public-features-{chosen.replicas}", *more)
    keep(run, {name: name for name in FILES}, place.out)
    packed = gzip.compress((run / "certificate.json").read_bytes(), mtime=0)
    place.file("certificate.json.gz").write_bytes(packed)
    place.publish(*FILES, "certificate.json.gz")
