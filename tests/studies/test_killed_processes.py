"""The real command as a process, killed with SIGKILL again and again, and resumed each time."""

from __future__ import annotations

import json
import random
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(BENCHMARKS)
    TOOL = runpy.run_path(str(BENCHMARKS / "kill_a_run.py"))
SEED = 20

EXPERIMENT = """
seed = 1
rounds = 40
data = { name = "digits", users = 20 }
model = { name = "mlp" }
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 0.5
noise_multiplier = 1.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 2 }
[attack]
who = { name = "random", count = 4 }
data = [{ name = "single_pixel", target = 0 }]
model = [{ name = "scale", factor = 10.0 }]
[privacy]
delta = 1e-3
accountant = "moments"  # the fastest
"""


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Importing torch takes longer than such a run: the commands are forked after it."""
    opened = TOOL["Starter"](tmp_path_factory.mktemp("started") / "log.txt")
    yield opened
    opened.close()


def test_a_private_run_under_attack_killed_20_times_ends_with_the_same_bits_and_the_same_ledger(
    starter: Any, tmp_path: Path
) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT)
    print(f"moments from seed {SEED}")
    kills, different = TOOL["kill_and_compare"](
        starter,
        ["run", str(file), "--workers", "2"],
        tmp_path,
        kills=20,
        moments=random.Random(SEED),
    )
    assert len(kills) == 20
    assert different == []
    phases = Counter(kill.phase for kill in kills)
    print(phases)
    # Most fell into the work, and all over it.
    assert phases["before it began"] + phases["after the last round"] <= 10
    assert {kill.done // 10 for kill in kills} >= {0, 1, 2, 3}
    ledger = json.loads((tmp_path / "killed-0" / "ledger.json").read_text())
    assert [(entry["count"], entry["released"]) for entry in ledger["entries"]] == [(40, True)]
    assert ledger["reserved"] is None


def test_a_difference_would_be_found(tmp_path: Path) -> None:
    differences = TOOL["differences"]
    for name in ("one", "other"):
        (tmp_path / name / "deeper").mkdir(parents=True)
        (tmp_path / name / ".lock").write_text(name)
        (tmp_path / name / "run.json").write_text(json.dumps({"data": 1, "environment": name}))
        (tmp_path / name / "deeper" / "ledger.json").write_text("the same")
    one, other = tmp_path / "one", tmp_path / "other"
    assert differences(one, other) == []
    (other / "deeper" / "ledger.json").write_text("not the same")
    (other / ".model.pt.0123456789abcdef.part").write_text("")
    (other / "run.json").write_text(json.dumps({"data": 2}))
    assert differences(one, other) == [
        ".model.pt.0123456789abcdef.part is there only once",
        "deeper/ledger.json",
        "run.json",
    ]
