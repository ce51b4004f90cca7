"""Run directories as the tests of the catalogue need them: the plain files, without training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dp_accounting import GaussianDpEvent, NonPrivateDpEvent

from fedward.privacy import Ledger, ledger_file, noise_for


def ledger_of(epsilon: float | None, rounds: int) -> Ledger:
    """A ledger that comes to about this ε at δ = 0.01 by rdp, or to none."""
    reason = "no noise is added" if epsilon is None else ""
    empty = Ledger(unit="user", adjacency="add/remove", noise_source="seeded", reason=reason)
    if epsilon is None:
        return empty.charged(NonPrivateDpEvent(), rounds)
    noise = noise_for(epsilon, 0.01, GaussianDpEvent, rounds, "rdp", "add/remove")
    return empty.charged(GaussianDpEvent(noise), rounds)


def make_run(path: Path, *, finished: bool = True, rounds: int = 2, **changes: Any) -> Path:
    """A single run with its ledger; ``changes`` go into its result."""
    path.mkdir(parents=True)
    experiment = {
        "seed": 1,
        "rounds": changes.pop("planned", rounds),
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
        "accountant": "rdp",
    }
    (path / "run.json").write_text(json.dumps(manifest))
    records = [{"round": number, "accuracy": 0.5 + 0.1 * number, "loss": 1.0} for number in range(rounds)]
    (path / "rounds.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    if finished:
        ledger = ledger_of(changes.pop("epsilon", None), rounds)
        (path / "ledger.json").write_text(ledger_file.dumps(ledger))
        guarantee = ledger.guarantee(0.01, "rdp")
        result: dict[str, Any] = {"rounds": rounds, "stopped_by_budget": False, "accuracy": 0.5, "loss": 1.0}
        result["guarantee"] = guarantee.to_json()
        (path / "result.json").write_text(json.dumps(result | {"statement": str(guarantee)} | changes))
    return path
