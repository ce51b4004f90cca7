"""One run directory as flat facts: ``algorithm.noise_multiplier`` is 2.0, ``accuracy`` is 0.95."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fedward.base.arrays_file import read_array
from fedward.base.validate import InvalidValue
from fedward.rundir.manifest import Manifest
from fedward.rundir.replica_store import finished_blocks
from fedward.rundir.results import MeasuredRound, ReplicasResult
from fedward.rundir.run_record import RunRecord
from fedward.rundir.store import RunDirectory

Fact = float | int | str | bool
State = Literal["finished", "unfinished", "damaged"]

# What an ε is computed from and compared with.
LEDGERS = ("run.json", "ledger.json", "users.json", "papers-ledger.json", "result.json")
# What the facts are read from; a run whose files are as they were is not read again.
FILES = (*LEDGERS, "rounds.jsonl", "certified.json", "sums.npz")
_LONGEST = 600
# Of a result: what belongs into a table.
_RESULTS = (
    "rounds",
    "stopped_by_budget",
    "accuracy",
    "loss",
    "attack_cost",
    "test_examples",
    "rejected_updates",
)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What is known of a run.

    Attributes:
      kind: run, replicas, membership or property.
      facts: flat; the experiment's keys as in its file, then what was found.
      rounds: what was measured, one record for each measured round.
      note: what is wrong with it: why it cannot be read, or why its ε is not known.
    """

    path: Path
    kind: str
    state: State
    facts: dict[str, Fact] = field(default_factory=dict)
    rounds: tuple[dict[str, Any], ...] = ()
    note: str = ""

    @property
    def known(self) -> dict[str, Fact]:
        """All that can be asked of it: its facts, its kind and its state."""
        return {**self.facts, "kind": self.kind, "state": self.state}


def stamp(path: Path) -> str:
    """Changes whenever a file that facts come from does; of those that an ε depends on, what is in them."""
    scores = sorted(path.glob("scores-*.npz"))
    found = [*(path / name for name in FILES), *scores[-1:]]
    sizes = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in found if file.exists()]
    contents = [(name, _digest(path / name)) for name in LEDGERS if (path / name).exists()]
    return repr((sizes, contents, len(scores)))


def _digest(file: Path) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()


def read(path: Path) -> RunFacts:
    """Reads a run directory. One that cannot be read is a damaged run, not an error: others are listed."""
    try:
        return _read(path)
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        told = str(error) if isinstance(error, InvalidValue) else f"{type(error).__name__}: {error}"
        return RunFacts(path=path, kind="?", state="damaged", note=told[:_LONGEST])


def _read(path: Path) -> RunFacts:
    directory = RunDirectory(path)
    manifest = directory.manifest()
    experiment = dict(manifest.experiment)
    if not experiment:
        raise InvalidValue(f"{path / 'run.json'} is damaged or not of a run: it does not say 'experiment'")
    variants = experiment.pop("variants", None)
    about = experiment.pop("inference", None)
    if variants is not None:
        kind, shared = "replicas", _common_facts(list(variants.values()))
        facts: dict[str, Fact] = {
            **dict(flat(shared)),
            "variants": len(variants),
            "replicas": _replicas(path),
        }
    else:
        kind = "run" if about is None else str(about.get("kind", "inference"))
        facts = dict(flat(experiment))
    if manifest.data.digest is not None:
        facts["data.digest"] = manifest.data.digest
    facts |= {f"versions.{key}": value for key, value in manifest.versions.items()}
    facts |= {f"environment.{key}": value for key, value in flat(manifest.environment)}
    for key in ("delta", "accountant", "engine"):
        if (known := getattr(manifest, key)) not in (None, ""):
            facts[key] = known
    result, note = directory.result(), ""
    if result is not None:
        facts |= dict(_collect_facts(result.to_json()))
    if result is not None and not isinstance(result, ReplicasResult):
        note = directory.spent(manifest, finished=True).problem
    measured = directory.metrics()
    rounds = tuple(each.to_json() for each in measured)
    planned = experiment.get("rounds")
    if result is None and kind == "run":
        facts |= dict(_facts_so_far(directory, manifest, measured))
    elif result is None and kind != "replicas":
        # Of an inference attack each file is of one training, or of one round of the only one.
        stored = sum(1 for _ in path.glob("scores-*-*.npz"))
        facts.pop("rounds", None)
        facts["rounds" if kind == "property" else "trainings"] = stored
    if isinstance(planned, int) and facts.get("rounds") != planned:
        facts["planned_rounds"] = planned
    if result is None and rounds:
        facts |= {key: value for key, value in flat(rounds[-1]) if key != "round"}
        facts["measured_after"] = rounds[-1]["round"] + 1
    finished = result is not None or (variants is not None and (path / "certified.json").exists())
    state: State = "finished" if finished else "unfinished"
    return RunFacts(path=path, kind=kind, state=state, facts=facts, rounds=rounds, note=note)


def _facts_so_far(
    directory: RunDirectory, manifest: Manifest, measured: Sequence[MeasuredRound]
) -> Iterator[tuple[str, Fact]]:
    """How far a run is and what it has spent: what is charged for the round under way is in it."""
    run = RunRecord(
        path=directory.path,
        manifest=manifest,
        metrics=tuple(measured),
        ledger=directory.ledger() if (directory.path / "ledger.json").exists() else None,
        users=directory.user_ledgers(),
    )
    yield "rounds", run.rounds
    guarantee = None if run.ledger is None and run.users is None else run.guarantee()
    if guarantee is not None:
        yield from _collect_facts({"guarantee": guarantee.to_json(), "statement": str(guarantee)})


def flat(content: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Fact]]:
    """Every number, text and truth value with its dotted key.

    >>> dict(flat({"algorithm": {"preset": "fedavg", "bounds": [1.0, 2.0]}, "attack": None}))
    {'algorithm.preset': 'fedavg', 'algorithm.bounds.0': 1.0, 'algorithm.bounds.1': 2.0}
    """
    for key, value in content.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield from flat({str(place): each for place, each in enumerate(value)}, f"{prefix}{key}.")
        elif isinstance(value, Fact):
            yield f"{prefix}{key}", value


def _collect_facts(result: dict[str, Any]) -> Iterator[tuple[str, Fact]]:
    guarantee = result.get("guarantee")
    if isinstance(guarantee, dict):
        # No guarantee has no ε: it is not zero and not infinite, it is not there.
        yield from (
            (key, guarantee[key]) for key in ("epsilon", "delta") if isinstance(guarantee.get(key), float)
        )
    if isinstance(result.get("statement"), str):
        yield "statement", result["statement"]
    for key in _RESULTS:
        if isinstance(result.get(key), Fact):
            yield key, result[key]
    yield from flat({key: result[key] for key in result if key.startswith("attack_success")})
    # Of several inference attacks the best one counts: the largest area under a ROC curve.
    attacks = result.get("attacks")
    areas = [each.get("auc") for each in (result, *(attacks.values() if isinstance(attacks, dict) else ()))]
    found = [each["value"] for each in areas if isinstance(each, dict)]
    if found:
        yield "auc", max(found)


def _common_facts(experiments: list[dict[str, Any]]) -> dict[str, Any]:
    """What all variants have in common."""
    first, *others = experiments
    common = {}
    for key, value in first.items():
        if all(other.get(key) == value for other in others):
            common[key] = value
        elif isinstance(value, dict) and all(isinstance(other.get(key), dict) for other in others):
            common[key] = _common_facts([each[key] for each in experiments])
    return common


def _replicas(path: Path) -> int:
    blocks = finished_blocks(path)
    if blocks:
        return blocks[-1][1]
    sums = path / "sums.npz"
    return int(read_array(sums, "replicas")) if sums.exists() else 0
