from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from fedward.attacks.model_poisoning import Collude, Scale
from fedward.attacks.poisoning import BoldDigit, Pixels, SemanticBackdoor, SinglePixel
from fedward.attacks.who import NamedUsers
from fedward.cli import main
from fedward.core.validate import InvalidValue
from fedward.experiment import checkpoint, files, lines
from fedward.experiment.config import from_content, parse
from fedward.experiment.runner import Setup, prepare, run
from fedward.experiment.store import open_run
from fedward.report import terminal

CONTENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 4,
    "data": {"name": "digits", "users": 12},
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "fedavg",
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
    },
    "attack": {"who": {"name": "random", "count": 4}, "data": [{"name": "single_pixel"}]},
    "privacy": {"delta": 1e-3, "accountant": "rdp"},
}
TOML = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 12
[model]
name = "logistic_regression"
[algorithm]
preset = "fedavg"
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 50, epochs = 1 }
[attack]
who = { name = "named", users = [3, 5] }
knowledge = "cohort"
rounds = [0, 1]
[[attack.data]]
name = "semantic"
target = 1
rate = 0.5
feature = { name = "bold_digit", label = 7, ink = 0.33 }
[[attack.data]]
name = "single_pixel"
[[attack.model]]
name = "collude"
[[attack.model]]
name = "scale"
factor = 3
"""
PRIVATE: dict[str, Any] = CONTENT["algorithm"] | {
    "preset": "user_dp_fedavg",
    "clip_bound": 0.5,
    "noise_multiplier": 1.0,
}
KRUM: dict[str, Any] = CONTENT["algorithm"] | {"preset": "krum", "malicious": 1}


def content(**changes: Any) -> dict[str, Any]:
    """The experiment with some keys changed: ``attack__who={...}`` stands for ``attack.who``."""
    made = copy.deepcopy(CONTENT)
    for key, value in changes.items():
        *tables, last = key.split("__")
        place = made
        for table in tables:
            place = place[table]
        place[last] = value
    return made


def setup_for(**changes: Any) -> Setup:
    return prepare(from_content(content(**changes)))


def run_to_end(setup: Setup, path: Path) -> dict[str, Any]:
    with open_run(path) as directory:
        for _ in run(setup, directory):
            pass
        result = directory.result()
    assert result is not None
    return result


def printed(setup: Setup, path: Path) -> str:
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    terminal.heading(console, setup, path)
    with open_run(path) as directory:
        result = directory.result()
        assert result is not None
        terminal.result(console, setup, directory.ledger(), result, directory.metrics())
    console.file.close()
    return console.export_text()


def test_a_table_in_a_file_becomes_the_attack_that_it_describes() -> None:
    section = parse(TOML).attack
    assert section is not None
    attack = section.build()
    assert attack.who == NamedUsers(users=(3, 5))
    feature = BoldDigit(label=7, ink=0.33)
    assert attack.data == (SemanticBackdoor(feature=feature, target=1, rate=0.5), SinglePixel())
    assert attack.model == (Collude(), Scale(factor=3))
    assert (attack.knowledge, attack.rounds) == ("cohort", (0, 1))


def test_pixels_and_values_can_be_written_as_lists_of_lists() -> None:
    pattern = {"name": "pixels", "places": [[0, 0], [-1, -1]]}
    made = from_content(
        content(attack__data=[{"name": "pattern", "pattern": pattern, "target": 2, "value": [[0.2, 0.9]]}])
    )
    assert made.attack is not None
    (backdoor,) = made.attack.build().data
    assert backdoor.pattern == Pixels(places=((0, 0), (-1, -1)))  # type: ignore[attr-defined]
    assert backdoor.value == ((0.2, 0.9),)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"attack__data": [{"name": "single_pixle"}]},
            r"attack\.data\.0: name must be one of .*, got 'single_pixle'; did you mean 'single_pixel'\?",
        ),
        (
            {"attack__model": [{"name": "scale", "factor": 2.0}, {"name": "sign_flop"}]},
            r"attack\.model\.1: name must be one of .* did you mean 'sign_flip'\?",
        ),
        ({"attack__who": {"name": "randon", "count": 2}}, r"attack\.who: name .* did you mean 'random'\?"),
        ({"attack__who": {"count": 2}}, r"attack\.who: the key 'name' is missing"),
        ({"attack__who": {"name": "random"}}, r"attack\.who\.count is missing"),
        (
            {"attack__who": {"name": "random", "cuont": 2}},
            r"attack\.who: unknown key 'cuont'; did you mean 'count'\?",
        ),
        ({"attack__whom": {}}, r"attack: unknown key 'whom'; did you mean 'who'\?"),
        ({"attack": {"data": [{"name": "single_pixel"}]}}, r"attack\.who is missing"),
        ({"attack__data": {"name": "single_pixel"}}, r"attack\.data must be a list in brackets"),
        ({"attack__data": []}, "attack: an attack needs a poisoning of data or of updates, got neither"),
        (
            {"attack__data": [{"name": "single_pixel", "fraction": 1.5}]},
            r"attack\.data\.0: poison fraction must be from 0 to 1, got 1.5",
        ),
        (
            {"attack__data": [{"name": "single_pixel", "fraction": -0.1}]},
            r"attack\.data\.0: poison fraction must be from 0 to 1, got -0.1",
        ),
        (
            {"attack__data": [{"name": "label_flip", "target": 1}, {"name": "single_pixel", "rate": 0.0}]},
            r"attack\.data\.1: poisoning rate must be above 0 and at most 1, got 0.0",
        ),
        (
            {"attack__who": {"name": "per_cohort", "count": 2, "each": 3}},
            r"attack\.who: attackers in every cohort must be at most the number of attackers, 2, got 3",
        ),
        (
            {"attack__model": [{"name": "inner_product", "factor": 1.0}]},
            "attack: InnerProduct.* needs to know the cohort and all honest rows, but knowledge = 'own'",
        ),
        ({"attack__knowledge": "cohrt"}, r"attack\.knowledge must be one of 'own', 'cohort', got 'cohrt'"),
        ({"attack__test_share": 1.0}, "attack: share of triggered test examples must be above 0 and below 1"),
        ({"attack__rounds": [4]}, r"attack\.rounds must lie below the number of rounds, 4, got 4"),
        ({"attack__rounds": [-1]}, "attack: round of the attack must be at least 0, got -1"),
        (
            {"attack__rounds": []},
            r"attack: rounds of the attack must be one or more different ones, got \[\]",
        ),
        ({"attack__cost_bound": 0.0}, r"attack\.cost_bound: bound of the attack cost must be positive"),
        ({"attack__target_model": 3}, r"attack\.target_model: must be a path in quotes, got 3"),
    ],
)
def test_what_is_wrong_in_the_table_is_said_with_its_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        from_content(content(**changes))


BAD_FOR_THE_DATA: list[tuple[dict[str, Any], str]] = [
    (
        {
            "attack__data": [
                {"name": "pattern", "target": 0, "pattern": {"name": "square", "size": 3, "row": 6}}
            ]
        },
        "attack: trigger must lie inside the image of 8 x 8 pixels, got .*8, .*5",
    ),
    (
        {"attack__data": [{"name": "single_pixel", "target": 10}]},
        "attack: target label must be below the number of classes, 10, got 10",
    ),
    (
        {"attack__who": {"name": "random", "count": 13}},
        "attack: number of attackers must be at most the number of users, 12, got 13",
    ),
    (
        {"attack__who": {"name": "per_cohort", "count": 8, "each": 7}},
        "attack: attackers in every cohort must be at most the size of a cohort, 6, got 7",
    ),
    (
        {
            "attack__who": {"name": "per_cohort", "count": 4, "each": 1},
            "algorithm__sampler": {"name": "everyone"},
        },
        "attack: attackers in every cohort need fixed-size or Poisson sampling, got everyone in every round",
    ),
    (
        {"attack__who": {"name": "named", "users": [3, 40]}},
        "attack: attacker 40 is not among the 12 users",
    ),
    ({"attack__test_share": 1e-4}, "attack: no test example can show whether single_pixel succeeds"),
    ({"attack__target_model": "none.pt"}, r"attack: target model: there is no file none\.pt"),
    (
        {
            "attack__model": [
                {"name": "constrain_and_scale", "factor": 5.0, "local": CONTENT["algorithm"]["local"]}
            ]
        },
        "constrain-and-scale needs a norm",
    ),
    (
        {"algorithm": KRUM | {"malicious": 2}},
        r"Krum\(malicious=2\) needs cohorts of at least 7 users",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_FOR_THE_DATA)
def test_an_attack_that_does_not_fit_is_refused_before_training(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        setup_for(**changes)


def test_every_measurement_has_what_the_attack_achieved(tmp_path: Path) -> None:
    setup = setup_for(evaluation={"every": 3}, attack__cost_bound=0.01)
    result = run_to_end(setup, tmp_path)
    records = lines.read(tmp_path / "rounds.jsonl")
    assert [record["round"] for record in records] == [2, 3]
    for record in (*records, result):
        assert 0 <= record["attack_success"] <= 1
        assert record["attack_cost"] > 0.01
        assert record["capped_attack_cost"] == 0.01
        assert record["attacks"].keys() == {"single_pixel"}
    assert setup.attack is not None
    assert setup.attack.goal is not None
    assert result["test_examples"] == len(setup.attack.goal.clean)
    assert result["accuracy"] == records[-1]["accuracy"]
    out = printed(setup, tmp_path)
    for stated in (
        "under attack: 4 of 12 users, single_pixel, in every round; they know their own data and rows",
        "attack success",
        "attack cost",
        f"{result['attack_success']:.2%}",
        "capped at the bound fixed beforehand: 0.0100",
    ):
        assert stated in out


def test_norms_of_honest_and_malicious_updates_are_kept_apart_as_telemetry(tmp_path: Path) -> None:
    setup = setup_for(attack__model=[{"name": "scale", "factor": 50.0}])
    result = run_to_end(setup, tmp_path)
    assert setup.attack is not None
    norms: dict[bool, list[float]] = {True: [], False: []}
    for record in lines.read(tmp_path / "telemetry.jsonl"):
        theirs = setup.attack.adversary.users & set(record["cohort"])
        assert set(record["malicious"]) == theirs
        for user, norm in zip(record["cohort"], record["norms"], strict=True):
            norms[user in theirs].append(norm)
    assert result["norms"]["honest"] == pytest.approx(sum(norms[False]) / len(norms[False]))
    assert result["norms"]["malicious"] == pytest.approx(sum(norms[True]) / len(norms[True]))
    assert result["norms"]["malicious"] > 10 * result["norms"]["honest"]
    assert "(telemetry, not covered by any ε)" in printed(setup, tmp_path)


def test_norms_of_a_scheduled_attack_are_those_of_its_rounds(tmp_path: Path) -> None:
    """Over all rounds, in most of which attackers behave, the two would look alike."""
    setup = setup_for(attack__model=[{"name": "scale", "factor": 50.0}], attack__rounds=[2])
    result = run_to_end(setup, tmp_path)
    record = lines.read(tmp_path / "telemetry.jsonl")[2]
    bad = [
        n for user, n in zip(record["cohort"], record["norms"], strict=True) if user in record["malicious"]
    ]
    assert bad
    assert result["norms"]["malicious"] == pytest.approx(sum(bad) / len(bad))


def test_rejected_updates_have_no_norm(tmp_path: Path) -> None:
    setup = setup_for(attack__model=[{"name": "scale", "factor": 1e300}])
    result = run_to_end(setup, tmp_path)
    assert result["rejected_updates"] > 0
    assert result["norms"]["malicious"] is None
    assert "malicious" not in printed(setup, tmp_path)


def test_with_system_entropy_nothing_of_the_attack_is_kept_but_its_success(tmp_path: Path) -> None:
    setup = setup_for(algorithm=PRIVATE | {"noise_source": "system"}, rounds=2)
    result = run_to_end(setup, tmp_path)
    assert not (tmp_path / "telemetry.jsonl").exists()
    assert "norms" not in result
    assert "kept_rounds" not in result
    assert 0 <= result["attack_success"] <= 1


def test_several_attacks_are_reported_one_by_one(tmp_path: Path) -> None:
    setup = prepare(parse(TOML))
    result = run_to_end(setup, tmp_path)
    assert result["attacks"].keys() == {"semantic", "single_pixel"}
    out = printed(setup, tmp_path)
    assert "in rounds [0, 1], counted from 0; they know the cohort and all honest rows" in out
    for name, attack in result["attacks"].items():
        assert f"{name}: success {attack['success']:.2%}" in out


def test_a_run_without_an_attack_says_nothing_of_one(tmp_path: Path) -> None:
    made = content()
    del made["attack"]
    setup = prepare(from_content(made))
    result = run_to_end(setup, tmp_path)
    assert not {"attack_success", "attack_cost", "norms", "notes"} & result.keys()
    out = printed(setup, tmp_path)
    assert not any(said in out for said in ("under attack", "attack success", "attack cost", "malicious"))


def test_cohorts_with_an_exact_number_of_attackers_are_said_to_be_staged(tmp_path: Path) -> None:
    for sampler, private in (
        ({"name": "fixed_size", "size": 6}, True),
        ({"name": "poisson", "rate": 0.5}, False),
    ):
        setup = setup_for(
            algorithm=(PRIVATE if private else CONTENT["algorithm"]) | {"sampler": sampler},
            attack__who={"name": "per_cohort", "count": 4, "each": 2},
        )
        path = tmp_path / str(sampler["name"])
        result = run_to_end(setup, path)
        telemetry = lines.read(path / "telemetry.jsonl")
        assert [len(record["malicious"]) for record in telemetry] == [2] * 4
        staged = "staged with exactly 2 of 4 attackers in every cohort"
        assert staged in (path / "ledger.json").read_text()
        assert (staged in result["statement"]) == private
        assert any("not the sampling that certificates are about" in note for note in result["notes"])
        assert "not the sampling that certificates are about" in printed(setup, path)


def test_a_round_with_too_few_users_keeps_the_model_and_is_logged(tmp_path: Path) -> None:
    setup = setup_for(algorithm=KRUM | {"sampler": {"name": "poisson", "rate": 0.42}}, rounds=8)
    result = run_to_end(setup, tmp_path)
    telemetry = lines.read(tmp_path / "telemetry.jsonl")
    small = [record for record in telemetry if len(record["cohort"]) < 5]
    assert 1 < len(small) < 8
    why = {r["round"]: f"Krum(malicious=1) needs at least 5 rows, got {len(r['cohort'])}" for r in small}
    assert {record["round"]: record["kept"] for record in telemetry if record["kept"]} == why
    assert {kept["round"]: kept["why"] for kept in result["kept_rounds"]} == why
    measured = {record["round"]: record["loss"] for record in lines.read(tmp_path / "rounds.jsonl")}
    for t in range(1, 8):
        assert (measured[t] == measured[t - 1]) == (t in why)
    out = printed(setup, tmp_path)
    first = min(why)
    assert f"{len(small)} rounds kept the model as it was; the first, round {first + 1}: {why[first]}" in out


class Killed(BaseException):
    """Stands for SIGKILL."""


def kill_at(monkeypatch: pytest.MonkeyPatch, operation: int) -> None:
    """Ends the process, so to speak, before the given file operation."""
    done = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal done
            if done == operation:
                raise Killed
            done += 1
            return real(*arguments)

        return call

    monkeypatch.setattr(files.os, "replace", counted(os.replace))
    monkeypatch.setattr(lines, "append", counted(lines.append))


def left(path: Path) -> dict[str, Any]:
    """All that must not depend on how often a run was interrupted."""
    state = checkpoint.from_bytes((path / "checkpoint.pt").read_bytes(), "checkpoint")
    names = ("ledger.json", "rounds.jsonl", "telemetry.jsonl", "result.json", "run.json")
    return {name: (path / name).read_text() for name in names} | {"parameters": state.parameters.tolist()}


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": KRUM, "rounds": 2, "attack__rounds": [1]},
        {
            "algorithm": PRIVATE,
            "rounds": 2,
            "attack__who": {"name": "per_cohort", "count": 4, "each": 2},
            "attack__knowledge": "cohort",
            "attack__data": [
                {"name": "semantic", "target": 1, "feature": {"name": "bold_digit", "label": 7, "ink": 0.33}}
            ],
            "attack__model": [{"name": "a_little_is_enough"}, {"name": "sign_flip"}],
        },
        {"rounds": 2, "attack__model": [{"name": "gaussian", "std": 0.1}]},
    ],
    ids=["krum in one round", "staged and colluding", "gaussian"],
)
def test_a_run_under_attack_killed_anywhere_and_resumed_ends_with_the_same_bits(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = setup_for(**changes)
    run_to_end(setup, tmp_path / "whole")
    whole = left(tmp_path / "whole")
    for operation in (1, 3, 4, 6, 9):
        path = tmp_path / f"killed-at-{operation}"
        with monkeypatch.context() as patch:
            kill_at(patch, operation)
            with pytest.raises(Killed):
                run_to_end(setup, path)
        run_to_end(setup_for(**changes), path)
        assert left(path) == whole, f"killed at operation {operation}"


def test_another_attack_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    run_to_end(setup_for(rounds=1), tmp_path)
    before = left(tmp_path)
    made = content(rounds=1)
    del made["attack"]
    for setup, key in (
        (setup_for(rounds=1, attack__who={"name": "random", "count": 3}), r"experiment\.attack\.who\.count"),
        (prepare(from_content(made)), r"experiment\.attack \("),
    ):
        with pytest.raises(InvalidValue, match=f"holds another run: {key}"):
            run_to_end(setup, tmp_path)
    assert left(tmp_path) == before


def test_a_run_from_before_there_were_attacks_can_be_gone_on_with(tmp_path: Path) -> None:
    made = content()
    del made["attack"]
    setup = prepare(from_content(made))
    with open_run(tmp_path) as directory:
        next(run(setup, directory))
    manifest = json.loads((tmp_path / "run.json").read_text())
    assert manifest["experiment"].pop("attack") is None
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    assert run_to_end(setup, tmp_path)["rounds"] == 4


def test_a_target_model_is_measured_and_belongs_to_the_run(tmp_path: Path) -> None:
    model = setup_for().model
    for name, value in (("zero.pt", 0.0), ("one.pt", 1.0)):
        state = {key: torch.full_like(tensor, value) for key, tensor in model.state_dict().items()}
        torch.save(state, tmp_path / name)
    changes = {"rounds": 1, "attack__cost_bound": 1e9}
    result = run_to_end(
        setup_for(**changes, attack__target_model=str(tmp_path / "zero.pt")), tmp_path / "run"
    )
    final = torch.load(tmp_path / "run" / "model.pt", weights_only=True)
    distance = 0.5 * sum(float(tensor.double().pow(2).sum()) for tensor in final.values())
    assert result["parameter_cost"] == pytest.approx(distance)
    assert result["capped_attack_cost"] == result["attack_cost"]
    # Where the file lies is not part of what is run; what is in it is.
    assert str(tmp_path) not in (tmp_path / "run" / "run.json").read_text()
    (tmp_path / "zero.pt").rename(tmp_path / "moved.pt")
    setup = setup_for(**changes, attack__target_model=str(tmp_path / "moved.pt"))
    assert run_to_end(setup, tmp_path / "run") == result
    assert "of the target model" in printed(setup, tmp_path / "run")
    with pytest.raises(InvalidValue, match=r"data\.target_model"):
        run_to_end(setup_for(**changes, attack__target_model=str(tmp_path / "one.pt")), tmp_path / "run")


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Runs the command in this process, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fedward", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        captured = capsys.readouterr()
        return int(exit.value.code or 0), captured.out, captured.err

    return command


def test_the_command_runs_an_experiment_under_attack(fedward: Any, tmp_path: Path) -> None:
    (tmp_path / "attack.toml").write_text(TOML)
    code, out, err = fedward("run", "attack.toml", "--json")
    assert code == 0
    result = json.loads(out)
    assert 0 <= result["attack_success"] <= 1
    assert result["norms"]["malicious"] > 0
    assert "under attack: 2 of 12 users, semantic, single_pixel, collude, scale" in err
    records = lines.read(tmp_path / "runs" / "attack" / "rounds.jsonl")
    assert [record["attack_success"] for record in records][-1] == result["attack_success"]
    assert all(record["attack_cost"] > 0 for record in records)
    code, out, _ = fedward("run", "attack.toml")
    assert code == 0
    assert "attack success" in out


def test_a_refused_file_neither_makes_nor_changes_a_run(fedward: Any, tmp_path: Path) -> None:
    for number, (old, new, message) in enumerate(
        [
            (
                "rounds = [0, 1]",
                "rounds = [2]",
                "attack.rounds must lie below the number of rounds, 2, got 2",
            ),
            ("target = 1", "target = 11", "attack: target label must be below the number of classes, 10"),
            ("users = [3, 5]", "users = [3, 50]", "attack: attacker 50 is not among the 12 users"),
            ('"cohort"', '"own"\ntest_share = 2.0', "attack: share of triggered test examples must be above"),
        ]
    ):
        assert old in TOML
        (tmp_path / f"bad{number}.toml").write_text(TOML.replace(old, new))
        code, _, err = fedward("run", f"bad{number}.toml")
        assert code == 2
        assert message in err
        assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()
    (tmp_path / "good.toml").write_text(TOML)
    assert fedward("run", "good.toml", "--out", "run")[0] == 0
    before = left(tmp_path / "run")
    assert fedward("run", "bad1.toml", "--out", "run")[0] == 2
    assert left(tmp_path / "run") == before
