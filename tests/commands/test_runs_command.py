from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from command_line import answer

EXPERIMENT = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 10
[model]
name = "logistic_regression"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 2.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 8, epochs = 1 }
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)

    run = partial(answer, monkeypatch=monkeypatch, capsys=capsys)
    (tmp_path / "low.toml").write_text(EXPERIMENT)
    (tmp_path / "high.toml").write_text(
        EXPERIMENT.replace("noise_multiplier = 2.0", "noise_multiplier = 8.0")
    )
    for name in ("low", "high"):
        assert run("run", f"{name}.toml", "--workers", "0")[0] == 0
    return run


def test_real_runs_are_listed_filtered_compared_and_exported(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = command("runs")
    assert code == 0
    assert "high" in out
    assert "low" in out
    assert "user_dp_fedavg" in out
    assert "ε is about one run alone" in out

    _, out, _ = command("runs", "--where", "algorithm.noise_multiplier>5", "--json")
    (only,) = json.loads(out)["runs"]
    assert only["run"] == "runs/high"
    assert only["environment.command"].startswith("fedward run high.toml")
    result = json.loads((tmp_path / "runs/high/result.json").read_text())
    assert only["epsilon"] == result["guarantee"]["epsilon"]
    assert only["accuracy"] == result["accuracy"]
    assert only["statement"] == result["statement"]

    _, out, _ = command("runs", "compare", "runs/low", "runs/high", "--json")
    differing = json.loads(out)["differences"]
    assert differing["algorithm.noise_multiplier"] == [2.0, 8.0]
    assert "algorithm.clip_bound" not in differing

    _, out, _ = command("runs", "--sort", "-epsilon")
    assert out.index("low") < out.index("high")

    _, out, _ = command("runs", "--show", "state", "--show", "kind")
    assert [line.split()[-2:] for line in out.splitlines() if "digits" in line] == [["finished", "run"]] * 2

    code, _, _ = command("runs", "export", "all.csv")
    assert code == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--in", "nowhere"), "nowhere is no directory"),
        (("--where", "accuracy"), "a condition must look like"),
        (("--where", "acuracy>1"), "did you mean 'accuracy'"),
        (("--where", "accuracy=>0.9"), "with one of =, !=, <, <=, >, >=, got 'accuracy=>0.9'"),
        (("--sort", "nothing"), "no run here has the key 'nothing'"),
        (("--show", "acuracy"), "no run here has the key 'acuracy'; did you mean 'accuracy'?"),
        (("--show", "acuracy", "--json"), "did you mean 'accuracy'?"),
        (("compare", "runs/low"), "two or more runs"),
        (("compare", "runs/low", "."), "must be the directory of a run"),
        (("compare", "runs/low", "none"), "got none: there is no such directory"),
        (("export", ""), "OUT must be the path of what is written, got ''"),
        (("export", "all.xyz"), "its ending says nothing"),
        (("export", "all.csv", "--to", "excel"), "must be one of"),
        (("export", "no/such/all.csv"), "no/such"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(command, arguments: tuple[str, ...], said: str) -> None:  # type: ignore[no-untyped-def]
    code, _, err = command("runs", *arguments)
    assert code == 2
    assert said in err
