"""Run directories as the tests of the catalogue need them: the plain files, without training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def make_run(path: Path, *, finished: bool = True, rounds: int = 2, **changes: Any) -> Path:
    """A single run; ``changes`` go into its result."""
    path.mkdir(parents=True)
    experiment = {
        "seed": 1,
        "rounds": rounds,
        "data": {"name": "digits", "users": 10},
        "model": {"name": "mlp"},
        "algorithm": {"preset": changes.pop("preset", "fedavg"), "sampler": {"name": "everyone"}},
        "attack": None,
    }
    manifest = {
        "experiment": experiment,
        "data": {"users": 10, "digest": "abc"},
        "versions": {"fedward": "1"},
        "delta": 0.01,
    }
    (path / "run.json").write_text(json.dumps(manifest))
    records = [{"round": number, "accuracy": 0.5 + 0.1 * number, "loss": 1.0} for number in range(rounds)]
    (path / "rounds.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    if finished:
        guarantee = {"epsilon": changes.pop("epsilon", None), "delta": 0.01}
        result = {"rounds": rounds, "accuracy": 0.5, "guarantee": guarantee, "statement": "words", **changes}
        (path / "result.json").write_text(json.dumps(result))
    return path
