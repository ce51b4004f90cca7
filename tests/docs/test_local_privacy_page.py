"""What docs/local-privacy.md and its example say can be done."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from fedward.config.experiment import from_content
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from studies.self_protected_runs import (
    LDP,
)

PAGE = (Path(__file__).parents[2] / "docs" / "local-privacy.md").read_text(encoding="utf8")
EXAMPLE = Path(__file__).parents[2] / "examples" / "insdp_digits.toml"


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL))
def test_every_table_on_the_page_can_be_run(block: str, tmp_path: Path) -> None:
    given = tomllib.loads(block)
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf8")) | {
        "rounds": 1,
        "privacy": {"accountant": "rdp"},
    }
    if "policy" in given:
        given = {"algorithm": LDP | given}
    assert run_to_end(prepare(from_content(content | given)), tmp_path)["rounds"] == 1


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(block, "docs/local-privacy.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert [line.startswith("ε of a user: median") for line in shown] == [True, True, False]
    assert "example level, add/remove, DP-SGD at the user" in shown[-1]


def test_the_page_names_every_preset_in_which_users_protect_themselves() -> None:
    for name in ("insdp_fedavg", "insdp_fedsgd", "dopamine", "local_dp", "ldp_fedsgd"):
        assert f"`{name}`" in PAGE


def test_the_example_learns(tmp_path: Path) -> None:
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf8")) | {"rounds": 12}
    content["privacy"] |= {"accountant": "rdp"}
    result = run_to_end(prepare(from_content(content)), tmp_path)
    assert result["accuracy"] > 0.6
    assert len(result["users"]["histogram"]) > 1
