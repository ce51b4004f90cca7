from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fedward.config.experiment import from_content
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.live_progress import follow_run
from fedward.rundir.computed_by import versions
from fedward.rundir.results import MeasuredRound, TrainingResult
from fedward.rundir.spent import unknown_guarantee
from fedward.studies.progress import Progress
from fedward.studies.training.training_study import Setup, prepare

CONTENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 300,
    "data": {"name": "digits", "users": 10},
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "fedavg",
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
    },
}
ATTACK: dict[str, Any] = {
    "who": {"name": "random", "count": 3},
    "data": [{"name": "single_pixel"}],
    "model": [{"name": "scale", "factor": 50.0}],
}
RECORD = MeasuredRound(round=0, accuracy=0.5, loss=1.25)
ATTACKED = MeasuredRound(round=0, accuracy=0.5, loss=1.25, attack_success=0.875, attack_cost=0.3)
NO_COST = MeasuredRound(round=0, accuracy=0.5, loss=1.25, attack_success=0.875, attack_cost=None)
RESULT: dict[str, Any] = {"rounds": 1, "stopped_by_budget": False, "statement": "no guarantee: why"}


def setup_for(**attack: Any) -> Setup:
    return prepare(from_content(CONTENT | ({"attack": ATTACK | attack} if attack else {})))


def shown(what: Any, *arguments: Any, terminal_like: bool = False) -> str:
    out = StringIO()
    what(Console(file=out, width=200, force_terminal=terminal_like), *arguments)
    return out.getvalue()


def result(setup: Setup, found: dict[str, Any], records: list[MeasuredRound]) -> str:
    content = RESULT | {"guarantee": unknown_guarantee("why").to_json()} | found
    whole = TrainingResult.model_validate(content)
    return shown(terminal.result, setup, setup.algorithm.new_ledger(), whole, records)


@pytest.mark.parametrize(
    ("attack", "line"),
    [
        (
            {"rounds": [250, 270, 290]},
            "under attack: 3 of 10 users, single_pixel, scale, in rounds [250, 270, 290], counted from 0; "
            "they know their own data and rows",
        ),
        ({"knowledge": "cohort"}, "in every round; they know the cohort and all honest rows"),
        (
            {"who": {"name": "per_cohort", "count": 3, "each": 2}},
            "Every cohort has exactly 2 attackers",
        ),
    ],
)
def test_the_heading_says_who_attacks_how_when_and_knowing_what(attack: dict[str, Any], line: str) -> None:
    assert line in shown(terminal.heading, setup_for(**attack), Path("run"))


def test_the_heading_of_a_clean_run_says_nothing_of_attacks() -> None:
    assert "attack" not in shown(terminal.heading, setup_for(), Path("run"))


def test_the_live_line_shows_both_sides() -> None:
    steps = [
        Progress(done=1, total=2, rounds=1),
        Progress(done=2, total=2, rounds=2, metrics=ATTACKED),
    ]
    out = shown(follow_run, setup_for(test_share=0.3), steps, terminal_like=True)
    assert "accuracy 50.0 % · attack success 87.5 % · no privacy guarantee" in out


def test_the_table_has_columns_for_the_attack_only_if_there_is_one() -> None:
    out = result(setup_for(test_share=0.3), {}, [ATTACKED, NO_COST])
    for stated in ("attack success", "attack cost", "87.50%", "0.3000", "not finite"):
        assert stated in out
    assert "attack" not in result(setup_for(), {}, [RECORD])


def test_all_that_was_found_is_said_once() -> None:
    found = {
        "attacks": {
            "single_pixel": {"success": 0.5, "cost": 0.25, "examples": 40},
            "label_flip": {"success": 0.0, "cost": None, "examples": 7},
        },
        "capped_attack_cost": 0.2,
        "parameter_cost": None,
        "norms": {"honest": None, "malicious": 12.5},
        "notes": ["A note."],
    }
    out = result(setup_for(test_share=0.3), found, [ATTACKED])
    for line in (
        "single_pixel: success 50.00%, cost 0.2500, on 40 test examples",
        "label_flip: success 0.00%, cost not finite, on 7 test examples",
        "attack cost, capped at the bound fixed beforehand: 0.2000",
        "of the target model: not finite",
        "mean norm of updates before clipping: honest none, malicious 12.5 (telemetry, not covered by any ε)",
        "A note.",
    ):
        assert out.count(line) == 1


def test_rounds_that_kept_the_model_are_counted_and_the_first_is_explained() -> None:
    kept = [{"round": 4, "why": "Krum(malicious=1) needs at least 5 rows, got 3"}, {"round": 7, "why": "."}]
    setup = setup_for()
    reason = "round 5: Krum(malicious=1) needs at least 5 rows, got 3"
    one = result(setup, {"kept_rounds": kept[:1]}, [RECORD])
    assert f"1 round kept the model as it was; the first, {reason}" in one
    both = result(setup, {"kept_rounds": kept}, [RECORD])
    assert f"2 rounds kept the model as it was; the first, {reason}" in both
    assert "kept the model" not in result(setup, {"kept_rounds": []}, [RECORD])


@pytest.mark.parametrize(
    ("stored", "finished", "said"),
    [
        (None, False, False),
        ({"engine": "native engine, avx2", "versions": versions()}, False, False),
        ({"engine": "native engine, avx512", "versions": versions()}, False, True),
        ({"engine": "native engine, avx512", "versions": versions()}, True, False),
    ],
)
def test_a_run_that_was_computed_by_something_else_so_far_is_told(
    tmp_path: Path, stored: dict[str, Any] | None, finished: bool, said: bool
) -> None:
    if stored is not None:
        (tmp_path / "run.json").write_text(json.dumps({"experiment": {}} | stored))
    if finished:
        (tmp_path / "result.json").write_text("{}")
    first, *note = shown(terminal.engine, "native engine, avx2", tmp_path).splitlines()
    assert first == "native engine, avx2"
    assert bool(note) == said
    if said:
        assert "computed by native engine, avx512, now native engine, avx2. It is the same" in note[0]
