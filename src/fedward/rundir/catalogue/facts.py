"""One run directory as flat facts: ``algorithm.noise_multiplier`` is 2.0, ``accuracy`` is 0.95."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fedward.base.limited_files import LONGEST_TEXT
from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee
from fedward.rundir.audit_result import AuditResult
from fedward.rundir.digest_log import NAME as DIGESTS
from fedward.rundir.manifest import Manifest
from fedward.rundir.own_files import require_own_files
from fedward.rundir.promise import Promise
from fedward.rundir.replica_store import count_finished
from fedward.rundir.results import InferenceResult, MeasuredRound, MembershipResult, Result
from fedward.rundir.run_record import RunRecord
from fedward.rundir.store import RunDirectory

Fact = float | int | str | bool
State = Literal["finished", "unfinished", "damaged"]

# What an ε is computed from and compared with.
LEDGERS = ("run.json", "ledger.json", "users.json", "papers-ledger.json", "result.json")
# What the facts are read from; a run whose files are as they were is not read again.
FILES = (*LEDGERS, DIGESTS, "rounds.jsonl", "telemetry.jsonl", "certified.json", "sums.npz")
_LONGEST = 600
# Of a result: what belongs into a table.
_RESULTS = (
    *("rounds", "stopped_by_budget", "accuracy", "loss", "attack_cost"),
    *("test_examples", "rejected_updates"),
)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What is known of a run.

    Attributes:
      kind: run, replicas, membership or property.
      facts: flat; the experiment's keys as in its file, then what was found.
      note: what is wrong with it: why it cannot be read, or why its ε is not known.
    """

    path: Path
    kind: str
    state: State
    facts: dict[str, Fact] = field(default_factory=dict)
    note: str = ""

    @property
    def known(self) -> dict[str, Fact]:
        """All that can be asked of it: its facts, its kind and its state."""
        return {**self.facts, "kind": self.kind, "state": self.state}

    def read_rounds(self) -> tuple[dict[str, Any], ...]:
        """What was measured, one record for each measured round. Few ask: it is read for them."""
        if self.state == "damaged":
            return ()
        directory = RunDirectory(self.path)
        directory.require_shown_undamaged(directory.manifest())
        return tuple(each.to_json() for each in directory.metrics())


def stamp(path: Path) -> str:
    """Changes whenever a file that facts come from does; of those that an ε depends on, what is in them."""
    with os.scandir(path) as listed:
        present = {entry.name: entry for entry in listed}
    scores = sorted(name for name in present if name.startswith("scores-") and name.endswith(".npz"))
    # A pipe that nobody writes to would be waited for.
    names = [name for name in (*FILES, *scores[-1:]) if name in present and present[name].is_file()]
    known = {name: present[name].stat() for name in names}
    sizes = [(name, file.st_size, file.st_mtime_ns) for name, file in known.items()]
    # One that is too large is refused when it is read; it needs no stamp.
    texts = [name for name in LEDGERS if name in known and known[name].st_size <= LONGEST_TEXT]
    ledgers = [(path / name).read_bytes() for name in texts]
    contents = [hashlib.blake2b(content, digest_size=16).hexdigest() for content in ledgers]
    return repr((sizes, contents, len(scores)))


def read(path: Path) -> RunFacts:
    """Reads a run directory. One that cannot be read is a damaged run, not an error: others are listed."""
    try:
        return _read(path)
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        return damaged(path, error)


def damaged(path: Path, error: Exception) -> RunFacts:
    """A directory that cannot be read, with what went wrong."""
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, InvalidValue):
        told = str(error)
    elif isinstance(error, OSError) and error.strerror:
        told = error.strerror
    return RunFacts(path=path, kind="?", state="damaged", note=told[:_LONGEST])


def _read(path: Path) -> RunFacts:
    require_own_files(path)
    directory = RunDirectory(path)
    manifest = directory.manifest()
    experiment = dict(manifest.experiment)
    if not experiment:
        raise InvalidValue(f"{path / 'run.json'} is damaged or not of a run: it does not say 'experiment'")
    variants, about = experiment.pop("variants", None), experiment.pop("inference", None)
    audit = experiment.pop("audit", None)
    facts: dict[str, Fact]
    if variants is not None:
        kind, facts = "replicas", dict(flat(_common_facts(list(variants.values()))))
        facts |= {"variants": len(variants), "replicas": count_finished(path)}
    else:
        kind, facts = "run" if about is None else str(about.get("kind", "inference")), dict(flat(experiment))
        kind = kind if audit is None else "audit"
    computed = {
        "data": {"digest": manifest.data.digest},
        "versions": manifest.versions,
        "environment": manifest.environment,
        "delta": manifest.delta,
        "accountant": manifest.accountant or None,
        "engine": manifest.engine or None,
    }
    facts |= dict(flat(computed))
    result, note = directory.result(), ""
    measured = directory.metrics()
    if isinstance(result, Promise):
        facts |= _epsilon_facts(result.guarantee, result.statement)
        note = directory.spent(manifest, finished=True).problem
    if result is not None:
        facts |= _result_facts(result)
    elif kind == "run":
        facts |= _facts_so_far(directory, manifest, measured)
    elif kind not in ("replicas", "audit"):
        # Of an inference attack each file is of one training, or of one round of the only one.
        facts.pop("rounds", None)
        facts["rounds" if kind == "property" else "trainings"] = len(list(path.glob("scores-*-*.npz")))
    planned = experiment.get("rounds")
    if isinstance(planned, int) and facts.get("rounds") != planned:
        facts["planned_rounds"] = planned
    if result is None and measured:
        facts |= {key: value for key, value in flat(measured[-1].to_json()) if key != "round"}
        facts["measured_after"] = measured[-1].round + 1
    directory.require_shown_undamaged(manifest)
    finished = result is not None or (variants is not None and (path / "certified.json").exists())
    state: State = "finished" if finished else "unfinished"
    return RunFacts(path=path, kind=kind, state=state, facts=facts, note=note)


def _facts_so_far(
    directory: RunDirectory, manifest: Manifest, measured: Sequence[MeasuredRound]
) -> dict[str, Fact]:
    """How far a run is and what it has spent: what is charged for the round under way is in it."""
    spent = directory.spent(manifest, finished=False)
    run = RunRecord(
        path=directory.path,
        manifest=manifest,
        metrics=tuple(measured),
        ledger=spent.ledger,
        users=spent.users,
        # Without the ledgers of its users the server's alone would say that nothing was spent.
        unknown=spent.problem,
    )
    guarantee = None if run.ledger is None and run.users is None else run.guarantee()
    facts = {} if guarantee is None else _epsilon_facts(guarantee, str(guarantee))
    return {"rounds": run.rounds, **facts}


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


def differing_keys(experiments: Sequence[Mapping[str, Any]]) -> dict[str, list[Fact | None]]:
    """The dotted keys in which they differ, with the value of each; None where it is not set.

    >>> differing_keys([{"seed": 1, "data": {"users": 5}}, {"seed": 1, "data": {"users": 6}}])
    {'data.users': [5, 6]}
    """
    known = [dict(flat(dict(each))) for each in experiments]
    keys = dict.fromkeys(key for each in known for key in each)
    found = {key: [each.get(key) for each in known] for key in keys}
    return {key: values for key, values in found.items() if len(set(map(json.dumps, values))) > 1}


def _epsilon_facts(guarantee: Guarantee, statement: str) -> dict[str, Fact]:
    # No guarantee has no ε: it is not zero and not infinite, it is not there.
    epsilon = {"epsilon": guarantee.epsilon} if guarantee.private else {}
    return {**epsilon, "delta": guarantee.delta, "statement": statement}


def _result_facts(result: Result) -> dict[str, Fact]:
    """What a result says that belongs into a table."""
    content = result.to_json()
    facts = {key: content[key] for key in _RESULTS if isinstance(content.get(key), Fact)}
    facts |= dict(flat({key: content[key] for key in content if key.startswith("attack_success")}))
    # Of several inference attacks the best one counts: the largest area under a ROC curve.
    if isinstance(result, InferenceResult):
        attacks = result.attacks.values() if isinstance(result, MembershipResult) else [result]
        facts["auc"] = max(each.auc.value for each in attacks)
    if isinstance(result, AuditResult):
        facts |= {"lower_bound": result.lower_bound, "verdict": result.verdict}
    return facts


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
