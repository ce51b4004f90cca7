"""A sweep computed again: its table from its trainings, each of which is verified by itself."""

from __future__ import annotations

import json
import math
from typing import Any

from fedward.config.experiment import Experiment
from fedward.rundir.arena_record import ARENA, is_arena, read_arena_file
from fedward.rundir.catalogue.facts import flat
from fedward.rundir.file_record import json_object
from fedward.rundir.place import SWEPT
from fedward.rundir.results import Mean, TrainingResult
from fedward.rundir.store import RunDirectory
from fedward.rundir.sweep_record import read_sweep_record
from fedward.studies.arena.arena_results import computed_again
from fedward.studies.sweep.sweep_results import MEASURES
from fedward.studies.verification.verification import Contradiction, Findings, require_same


def verify_sweep(findings: Findings, members: list[str]) -> None:
    """Computes again what the files of a sweep say; ``members`` are the directories of its trainings."""
    path = findings.path
    if (path / "sweep.json").is_file():
        with findings.step("epsilon", "sweep.json", "ε of each combination, from the ledgers of its runs"):
            read_sweep_record(path)
        with findings.step("table", "sweep.json", "means and intervals of the table, from its runs"):
            combinations = (json_object(path / "sweep.json") or {})["combinations"]
            listed = [name for each in combinations for name in each["runs"]]
            require_same("trainings", sorted(listed), sorted(members))
            for each in combinations:
                _require_means(findings, each)
    if is_arena(path):
        with findings.step("table", ARENA, "cells, worst cases and ranks of the arena, from its runs"):
            _require_arena(findings, members)
    with findings.step("members", SWEPT, "every training is one of the sweep"):
        stored = json_object(path / SWEPT)
        if stored is not None:
            for name in members:
                _require_of_sweep(findings, stored, name)
    drawn = "arena.csv, arena.png and seconds.json" if is_arena(path) else "sweep.csv and sweep.png"
    findings.trust("table", f"{drawn}: by their digests only")


def _require_arena(findings: Findings, members: list[str]) -> None:
    stored = read_arena_file(findings.path)
    listed = [name for cell in stored.cells for name in cell.runs]
    finished = [name for name in members if (findings.path / name / "result.json").is_file()]
    require_same("trainings", sorted(listed), sorted(finished))
    for name, seed in ((n, s) for cell in stored.cells for n, s in zip(cell.runs, cell.seeds, strict=True)):
        require_same("a seed", seed, RunDirectory(findings.path / name).manifest().experiment.get("seed"))
    again = computed_again(findings.path, stored)
    for one, other in zip(stored.cells, again.cells, strict=True):
        require_same(f"{one.defence} under {one.attack}", one.to_json(), other.to_json())
    require_same("standings", [x.to_json() for x in stored.standings], [x.to_json() for x in again.standings])


def _require_means(findings: Findings, combination: dict[str, Any]) -> None:
    found = []
    for name in combination["runs"]:
        result = RunDirectory(findings.path / name).result()
        if not isinstance(result, TrainingResult):
            raise Contradiction(f"lists {name}, which holds no finished run")
        found.append(result)
        seed = RunDirectory(findings.path / name).manifest().experiment.get("seed")
        require_same("a seed", combination["seeds"][len(found) - 1], seed)
    require_same("rounds", combination["rounds"], [each.rounds for each in found])
    for key in MEASURES:
        numbers = [getattr(each, key) for each in found if getattr(each, key) is not None]
        whole = len(numbers) == len(found)
        mean = Mean.of(numbers, most=math.inf if key == "attack_cost" else 1.0).to_json() if whole else None
        require_same(f"{key} of {combination.get('name')}", combination.get(key), mean)


def _require_of_sweep(findings: Findings, stored: dict[str, Any], name: str) -> None:
    """What all trainings have in common is what the sweep says, as far as this training says it."""
    own = dict(flat(RunDirectory(findings.path / name).manifest().experiment))
    known = set(Experiment.model_fields)
    for key, value in stored["experiment"].items():
        if key in own and key.partition(".")[0] in known and json.dumps(own[key]) != json.dumps(value):
            raise Contradiction(f"says {key} = {value!r:.60}, and {name} has {own[key]!r:.60}")
