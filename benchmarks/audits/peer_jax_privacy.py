"""Bounds by the auditing module of jax-privacy, for ``check_bounds.py``; runs in an environment with it."""

from __future__ import annotations

import json
import sys

import numpy as np
from jax_privacy import auditing


def main() -> None:
    """Prints its bounds for the scores in a file, as one JSON object."""
    with np.load(sys.argv[1]) as file:
        auditor = auditing.CanaryScoreAuditor(
            in_canary_scores=file["inside"], out_canary_scores=file["outside"]
        )
    found = {}
    for name in ("epsilon_clopper_pearson", "epsilon_one_run", "epsilon_one_run_fdp", "epsilon_from_gdp"):
        found[name] = float(getattr(auditor, name)(significance=0.05, delta=1e-5))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
