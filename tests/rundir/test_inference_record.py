from __future__ import annotations

import json
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.facts import read as facts
from fedward.rundir.inference_record import NAME, PROPERTY
from fedward.rundir.run_record import load
from fedward.rundir.store import RunDirectory
from studies.inferred import read


def test_a_finished_run_of_membership_is_read_whole(members: Path) -> None:
    record = read(members)
    result = json.loads((members / "result.json").read_text())
    assert record.finished
    assert record.kind == "membership"
    assert record.about["unit"] == "user"
    assert "inference" not in record.experiment
    assert record.stored == 6
    assert list(record.attacks) == ["loss threshold", "likelihood ratio", "likelihood ratio, offline"]
    assert {name: found.to_json() for name, found in record.attacks.items()} == result["attacks"]
    assert record.attacks[record.best or ""].auc.value == max(
        each["auc"]["value"] for each in result["attacks"].values()
    )
    guarantee = record.guarantee()
    assert guarantee is not None
    assert str(guarantee) == result["statement"]
    assert record.crossed == result["crossed"] == {}


def test_a_finished_run_about_a_property_is_read_whole(watched: Path) -> None:
    record = read(watched)
    assert record.kind == "property"
    assert record.best == PROPERTY
    assert list(record.attacks) == [PROPERTY]
    assert record.attacks[PROPERTY].positives + record.attacks[PROPERTY].negatives == 12
    assert record.curves.limit is None  # no noise, no promise
    assert record.crossed == {}


def test_the_curves_are_those_that_the_numbers_were_read_off(members: Path) -> None:
    record = read(members)
    assert record.curves.attacks.keys() == record.attacks.keys()
    for name, (fpr, tpr) in record.curves.attacks.items():
        found = record.attacks[name]
        area = (np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum()
        assert area == pytest.approx(found.auc.value)
        assert (tpr - fpr).max() == pytest.approx(found.advantage)
        point = found.tpr_at_fpr["0.1"]
        assert point.tpr.value in tpr[np.isclose(fpr, point.fpr.value)]
    assert record.curves.limit is not None
    fpr, tpr = record.curves.limit
    assert record.result is not None
    for rate, most in (record.result.limit.tpr_at_fpr or {}).items():
        assert np.interp(float(rate), fpr, tpr) == pytest.approx(most, abs=2e-3)


def test_a_table_has_a_row_for_each_attack(members: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(json_normalize=list))
    record = read(members)
    rows = record.to_pandas()
    assert [row["attack"] for row in rows] == list(record.attacks)
    for row, found in zip(rows, record.attacks.values(), strict=True):
        assert row["auc.value"] == found.auc.value
        assert row["auc.low"] <= row["auc.value"] <= row["auc.high"]
        assert row["tpr_at_0.1.value"] == found.tpr_at_fpr["0.1"].tpr.value
        assert row["advantage"] == pytest.approx(2 * row["balanced_accuracy"] - 1)
        assert record.result is not None
        assert row["auc.limit"] == record.result.limit.auc


@pytest.fixture
def copy(members: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(members, tmp_path / "run"))


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_under_way_is_read_as_far_as_it_is(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("result.json", NAME, "scores-shadow-003.npz"):
        (copy / name).unlink()
    record = read(copy)
    assert not record.finished
    assert record.stored == 5
    assert (record.attacks, record.best, record.guarantee(), record.crossed) == ({}, None, None, {})
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(json_normalize=list))
    assert record.to_pandas() == []


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_from_before_curves_were_kept_is_read(copy: Path) -> None:
    (copy / NAME).unlink()
    assert read(copy).curves.attacks == {}


def test_damaged_curves_are_one_line(copy: Path) -> None:
    content = bytearray((copy / NAME).read_bytes())
    content[len(content) // 2] ^= 255
    (copy / NAME).write_bytes(content)
    with pytest.raises(InvalidValue, match=r"curves\.npz is damaged"):
        load(copy)


def _places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = content.items() if isinstance(content, dict) else ()
    for key, each in inside:
        yield (*path, key)
        yield from _places(each, (*path, key))


@pytest.mark.parametrize("value", [None, [], "x", {}])
def test_a_result_with_anything_in_the_wrong_place_is_one_line_or_can_be_used(
    copy: Path, members: Path, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(json_normalize=list))
    good = (members / "result.json").read_text()
    refused = []
    for *path, last in _places(json.loads(good)):
        content = json.loads(good)
        place = content
        for key in path:
            place = place[key]
        place[last] = value
        (copy / "result.json").write_text(json.dumps(content))
        try:
            read(copy).to_pandas()
        except InvalidValue as error:
            refused.append(str(error))
    assert len(refused) > 60
    assert all(str(copy / "result.json") in each for each in refused)


@pytest.mark.usefixtures("edited_by_hand")
def test_the_guarantee_comes_from_the_ledger_of_one_training(copy: Path, members: Path) -> None:
    ledger = RunDirectory(members).ledger()
    guarantee = read(members).guarantee()
    assert guarantee == ledger.guarantee(1e-3, "rdp")
    result = json.loads((copy / "result.json").read_text())
    (copy / "result.json").write_text(json.dumps(result | {"statement": "(ε = 0.001)"}))
    record = read(copy)
    assert record.result is not None
    assert record.result.statement == str(guarantee)
    result["guarantee"]["epsilon"] = 0.125
    (copy / "result.json").write_text(json.dumps(result))
    with pytest.raises(InvalidValue, match=r"result.json says ε = 0.125, and .*ledger.json comes to ε = "):
        load(copy)
    assert "epsilon" not in facts(copy).facts


@pytest.mark.parametrize("kind", ["membership", "property"])
def test_without_a_ledger_nothing_is_promised_and_it_is_said_why(
    kind: str, members: Path, watched: Path, tmp_path: Path
) -> None:
    """As commit fc34a4a left it."""
    path = Path(shutil.copytree(members if kind == "membership" else watched, tmp_path / "run"))
    (path / "ledger.json").unlink()
    guarantee = read(path).guarantee()
    assert guarantee is not None
    why = f"what was spent is not known, {path / 'ledger.json'} is missing; the same command writes it"
    assert guarantee.reason == why
    assert "epsilon" not in facts(path).facts
    assert why in facts(path).note
