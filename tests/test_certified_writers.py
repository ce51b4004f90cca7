"""The certificate of the README is what its files say, and the pages say what it says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fedward.cli import main
from fedward.privacy.rounding import percent_down

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "experiments" / "certified_writers"


def test_the_certificate_of_the_writers_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(FOLDER / "certificate.json.gz")
    monkeypatch.setattr(sys, "argv", ["fedward", "certificate", "check", file, "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    verdict = json.loads(capsys.readouterr().out)
    assert (end.value.code or 0, verdict["holds"], verdict["problems"]) == (0, True, [])
    assert (verdict["examples"], verdict["replicas"]) == (10_000, 2_000)
    assert {attack["threat"]: attack["most"] for attack in verdict["attacks"]} == {
        "inject": 13,
        "present": 13,
        "compromise": 6,
    }


def curve(mode: str) -> list[float]:
    content: dict[str, Any] = json.loads((FOLDER / "certified.json").read_text())["noise_multiplier=5"]
    (found,) = (c for c in content["curves"] if c["mode"] == mode and c["with_confidence"])
    return [float(share) for share in found["certified_accuracy"]]


def told(share: float) -> str:
    """A certified share as the pages have it: rounded down."""
    return percent_down(share, 1).replace("%", " %")


@pytest.mark.parametrize(
    ("row", "mode"),
    [
        ("**join**", "inject"),
        ("already**", "present"),
        ("**taken over**", "compromise"),
        ("as in Xie et al.", "paper"),
    ],
)
def test_the_page_states_what_was_certified(row: str, mode: str) -> None:
    text = (FOLDER / "README.md").read_text()
    head = next(line for line in text.splitlines() if line.startswith("| certified right against k"))
    ks = [int(cell) for cell in re.findall(r"\d+", head)]
    line = next(line for line in text.splitlines() if line.startswith("| ") and row in line)
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    found = curve(mode)
    for k, cell in zip(ks, cells, strict=True):
        assert cell == (told(found[k]) if k < len(found) else "-"), (mode, k)


def test_the_readme_states_what_was_certified() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    for row, mode in (("| k attackers **join**", "inject"), ("| k of the writers", "compromise")):
        line = next(line for line in lines if line.startswith(row))
        found = curve(mode)
        wanted = [told(found[k]) if k < len(found) else "-" for k in (0, 1, 5, 10, 13)]
        assert [cell.strip() for cell in line.split("|")[2:-1]] == wanted
    assert curve("inject") == curve("present")
