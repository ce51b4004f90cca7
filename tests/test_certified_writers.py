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
FEATURES = ROOT / "experiments" / "public_features"


@pytest.mark.parametrize(
    ("folder", "replicas", "most"),
    [(FOLDER, 2_000, (13, 13, 6)), (FEATURES, 10_000, (96, 96, 48))],
    ids=["pixels", "public features"],
)
def test_the_certificate_of_the_writers_holds(
    folder: Path,
    replicas: int,
    most: tuple[int, int, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(folder / "certificate.json.gz")
    monkeypatch.setattr(sys, "argv", ["fedward", "certificate", "check", file, "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    verdict = json.loads(capsys.readouterr().out)
    assert (end.value.code or 0, verdict["holds"], verdict["problems"]) == (0, True, [])
    assert (verdict["examples"], verdict["replicas"]) == (10_000, replicas)
    found = {attack["threat"]: attack["most"] for attack in verdict["attacks"]}
    assert found == dict(zip(("inject", "present", "compromise"), most, strict=True))


def curve(mode: str, folder: Path = FOLDER) -> list[float]:
    (content,) = (
        each
        for name, each in json.loads((folder / "certified.json").read_text()).items()
        if name in ("noise_multiplier=5", "all")
    )
    (found,) = (c for c in content["curves"] if c["mode"] == mode and c["with_confidence"])
    return [float(share) for share in found["certified_accuracy"]]


def told(share: float) -> str:
    """A certified share as the pages have it: rounded down."""
    return percent_down(share, 1).replace("%", " %")


ROWS = [("**join**", "inject"), ("already**", "present"), ("**taken over**", "compromise")]


@pytest.mark.parametrize(
    ("folder", "row", "mode"),
    [(folder, *each) for folder in (FOLDER, FEATURES) for each in ROWS]
    + [(FOLDER, "as in Xie et al.", "paper")],
)
def test_the_page_states_what_was_certified(folder: Path, row: str, mode: str) -> None:
    text = (folder / "README.md").read_text()
    head = next(line for line in text.splitlines() if line.startswith("| certified right against k"))
    ks = [int(cell) for cell in re.findall(r"\d+", head)]
    line = next(
        line for line in text.splitlines() if (line.startswith("| k") and row in line) or row in line[:30]
    )
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    found = curve(mode, folder)
    for k, cell in zip(ks, cells, strict=True):
        assert cell == (told(found[k]) if k < len(found) else "-"), (mode, k)


def test_the_readme_states_what_was_certified() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    for row, mode in (("| k attackers **join**", "inject"), ("| k of the writers", "compromise")):
        line = next(line for line in lines if line.startswith(row))
        found = curve(mode, FEATURES)
        wanted = [told(found[k]) if k < len(found) else "-" for k in (0, 5, 10, 25, 50, 88)]
        assert [cell.strip() for cell in line.split("|")[2:-1]] == wanted
    assert curve("inject", FEATURES) == curve("present", FEATURES)


def test_no_attack_crosses_the_certificate_and_the_strongest_comes_near() -> None:
    records: list[dict[str, Any]] = json.loads((FEATURES / "attacks.json").read_text())
    curves = {threat: curve(threat, FEATURES) for threat in ("inject", "compromise")}
    assert len({each["attack"] for each in records}) == 9
    for each in records:
        found = curves["compromise" if each["attack"].endswith("taken over") else "inject"]
        certified = found[each["k"]] if each["k"] < len(found) else 0.0
        assert each["vote"] >= certified, each
    for k in (10, 25):
        name = "each digit for itself, noisy vote"
        near = next(e for e in records if (e["attack"], e["k"]) == (name, k))
        assert near["vote"] - curves["inject"][k] < 0.02


def test_k_grows_like_the_number_of_users() -> None:
    records: list[dict[str, Any]] = json.loads((FEATURES / "scale.json").read_text())
    grows = {e["users"]: e["k at 50 %"] for e in records if e["noise"] == e["users"] / 4}
    assert list(grows) == [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]
    assert all(0.25 <= k / users <= 0.3 for users, k in grows.items())
    text = (FEATURES / "README.md").read_text()
    line = next(line for line in text.splitlines() if "the noise on the mean stays |" in line)
    assert [int(cell.replace(",", "")) for cell in line.split("|")[2:-1]] == list(grows.values())


def test_the_page_states_what_the_public_data_are_worth_alone() -> None:
    text = (FEATURES / "README.md").read_text()
    baseline = json.loads((FEATURES / "baseline.json").read_text())
    for name in ("ten labels, one for each group", "labels of all public digits, the flagship's features"):
        assert f"| {100 * baseline[name]:.1f} % |" in text


def test_the_page_states_what_is_certified_for_other_people() -> None:
    text = (FEATURES / "README.md").read_text()
    head = next(line for line in text.splitlines() if line.startswith("| | ε (δ = 1e-5) | k = 0"))
    ks = re.findall(r"\d+", head.split("| k = ")[1].split("| largest")[0])
    records: list[dict[str, Any]] = json.loads((FEATURES / "people.json").read_text())
    assert len(records) == 6
    for record in records:
        line = next(line for line in text.splitlines() if line.startswith(f"| {record['name']} |"))
        cells = [cell.strip() for cell in line.split("|")[2:-1]]
        shares = record["inject"]
        assert cells[1:-1] == [told(shares[k]) if k in shares else "-" for k in ks]
        assert cells[-1] == f"{record['largest k, inject']} ({record['largest k, compromise']})"
        assert record["epsilon"] <= float(cells[0]) <= 1.1 * record["epsilon"]
