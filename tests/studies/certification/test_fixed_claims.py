from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import certify
from fedward.certificates.certificate_file import dumps
from fedward.certificates.claims import Claims
from fedward.certificates.claims_draw import CostClaims
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Tally
from fedward.privacy import Ledger
from fedward.studies.certification.fixed_claims import fix_claims

COSTS = CostClaims(attackers=(0, 2), bounds={"all": 4.0})


def fixed(
    path: Path,
    replicas: int = 20,
    finished: int = 0,
    shown: int | None = None,
    costs: CostClaims | None = None,
    **claims: Any,
) -> tuple[int, ...]:
    """The looks that are claimed in a directory."""
    found, draw = fix_claims(
        Claims(replicas=replicas, **claims), path, ["all"], finished=finished, shown=shown, costs=costs
    )
    stored = json.loads((path / "claims.json").read_text())
    assert tuple(stored["looks"]) == found.confidence.looks
    assert stored.get("draw", "") == draw
    assert draw in ("", found.draw(costs))
    return found.confidence.looks


def without_draw(path: Path) -> None:
    """The claims as commit fc34a4a stored them."""
    stored = json.loads((path / "claims.json").read_text())
    del stored["draw"]
    (path / "claims.json").write_text(json.dumps(stored, indent=2) + "\n")


def test_what_is_claimed_is_stored_and_the_same_again_is_accepted(tmp_path: Path) -> None:
    assert fixed(tmp_path, score="vote", error=0.05) == (20,)
    stored = (tmp_path / "claims.json").read_bytes()
    assert json.loads(stored) == {
        "looks": [20],
        "score": "vote",
        "method": "clopper_pearson",
        "error": 0.05,
        "simultaneous": False,
        "threats": ["compromise", "inject", "present"],
        "attendance": "drawn",
        "draw": Claims(replicas=20, score="vote", error=0.05).draw(),
    }
    again: dict[str, Any] = {"score": "vote", "error": 0.05, "threats": ("present", "inject", "compromise")}
    assert fixed(tmp_path, finished=20, shown=20, **again) == (20,)
    assert (tmp_path / "claims.json").read_bytes() == stored


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"error": 0.05}, r"error \(0.01 there, 0.05 here\)"),
        ({"score": "vote"}, r"score \('confidence' there, 'vote' here\), method \('betting' there"),
        ({"method": "hoeffding"}, r"method \('betting' there, 'hoeffding' here\)"),
        ({"method": "betting_sequence"}, r"method \('betting' there, 'betting_sequence' here\)"),
        ({"simultaneous": True}, r"simultaneous \(False there, True here\)"),
        ({"threats": ("inject",)}, r"threats \(\['compromise', .* there, \['inject'\] here\)"),
        ({"attendance": "every-round"}, r"attendance \('drawn' there, 'every-round' here\)"),
    ],
)
def test_other_claims_are_refused_once_a_replica_is_finished(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    fixed(tmp_path)
    stored = (tmp_path / "claims.json").read_bytes()
    for finished, shown in ((1, None), (20, 20)):
        with pytest.raises(InvalidValue, match=f"fixed beforehand.*{told}.*use another --out: .* fresh"):
            fixed(tmp_path, finished=finished, shown=shown, **changes)
        assert (tmp_path / "claims.json").read_bytes() == stored
    assert fixed(tmp_path, **changes) == (20,)  # nothing is trained yet


def test_the_number_of_replicas_is_fixed_with_the_first_of_them(tmp_path: Path) -> None:
    fixed(tmp_path, replicas=20)
    assert fixed(tmp_path, replicas=30) == (30,)  # nothing is trained yet
    for finished, shown in ((1, None), (30, 30)):
        for replicas in (29, 31):
            with pytest.raises(InvalidValue, match=f"got {replicas} where 30 were claimed before they were"):
                fixed(tmp_path, replicas=replicas, finished=finished, shown=shown)
    assert fixed(tmp_path, replicas=30, finished=30, shown=30) == (30,)


def test_a_draw_that_is_not_that_of_the_claims_is_damage(tmp_path: Path) -> None:
    fixed(tmp_path)
    file = tmp_path / "claims.json"
    file.write_text(file.read_text().replace(Claims(replicas=20).draw(), "0a" * 16))
    with pytest.raises(InvalidValue, match=r"claims.json is damaged, its draw is not that of its claims"):
        fixed(tmp_path, finished=1)


def test_without_a_draw_the_number_of_replicas_may_change_until_a_result_was_shown(tmp_path: Path) -> None:
    fixed(tmp_path, replicas=20)
    without_draw(tmp_path)
    assert fixed(tmp_path, replicas=30, finished=10) == (30,)
    for replicas in (29, 31):
        with pytest.raises(InvalidValue, match=f"got {replicas} where the results of 30 were shown already"):
            fixed(tmp_path, replicas=replicas, finished=30, shown=30)
    assert fixed(tmp_path, replicas=30, finished=30, shown=30) == (30,)


def test_replicas_that_nothing_was_claimed_about_are_not_certified(tmp_path: Path) -> None:
    """A directory of ``fedward replicas`` has no claims, and has shown accuracies, maybe several times."""
    for replicas, shown in ((20, 20), (30, 20), (20, None)):
        with pytest.raises(InvalidValue, match="replicas that nothing was claimed about"):
            fixed(tmp_path, replicas=replicas, finished=20, shown=shown)
    assert not (tmp_path / "claims.json").exists()


def test_without_a_draw_a_number_that_was_shown_is_not_claimed_afterwards(tmp_path: Path) -> None:
    """50 were claimed; ``fedward replicas`` showed 20, and then 30, where it looked good."""
    fixed(tmp_path, replicas=50)
    without_draw(tmp_path)
    with pytest.raises(InvalidValue, match="got 30 where 50 were claimed before"):
        fixed(tmp_path, replicas=30, finished=30, shown=30)
    assert fixed(tmp_path, replicas=50, finished=50, shown=50) == (50,)


def test_replicas_that_were_added_after_a_certificate_do_not_hide_it(tmp_path: Path) -> None:
    fixed(tmp_path)
    without_draw(tmp_path)
    (tmp_path / "certified.json").write_text("{}")
    with pytest.raises(InvalidValue, match="got 30 where the results of 20 and 30 were shown already"):
        fixed(tmp_path, replicas=30, finished=30, shown=30)


def test_a_method_for_all_times_goes_on_and_lists_all_looks(tmp_path: Path) -> None:
    assert fixed(tmp_path, replicas=20, method="betting_sequence") == (20,)
    (tmp_path / "certified.json").write_text("{}")
    again: dict[str, Any] = {"method": "betting_sequence", "shown": 20, "finished": 20}
    assert fixed(tmp_path, replicas=20, **again) == (20,)
    assert fixed(tmp_path, replicas=40, **again) == (20, 40)
    # Killed before anybody looked at 40, and changed.
    assert fixed(tmp_path, replicas=50, **again) == (20, 50)
    assert fixed(tmp_path, replicas=50, **again | {"shown": 50}) == (20, 50)
    with pytest.raises(InvalidValue, match="got 40 where the results of 20 and 50"):
        fixed(tmp_path, replicas=40, **again | {"shown": 50})


def test_costs_are_bounded_at_one_number_of_replicas_by_any_method(tmp_path: Path) -> None:
    fixed(tmp_path, method="betting_sequence", costs=COSTS)
    with pytest.raises(InvalidValue, match="got 30 where 20 were claimed before they were trained; use"):
        fixed(tmp_path, replicas=30, method="betting_sequence", costs=COSTS, finished=20, shown=20)


def test_another_bound_on_costs_is_another_claim(tmp_path: Path) -> None:
    fixed(tmp_path, costs=COSTS)
    with pytest.raises(InvalidValue, match=r"costs \(.*4.0.* there, .*5.0.* here\)"):
        fixed(tmp_path, costs=CostClaims(attackers=(0, 2), bounds={"all": 5.0}), finished=1)


def test_certificates_of_older_versions_say_what_was_claimed(tmp_path: Path) -> None:
    claims = Claims(replicas=20, score="vote", error=0.05, threats=("inject",))
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(
        GaussianDpEvent(4.0), 1
    )
    setting = Setting(
        ledger=ledger,
        users=30,
        confidence=claims.confidence,
        delta=0.01,
        accountant="rdp",
        initial_model="a",
        data="b",
        threats=claims.threats,
    )
    tally = Tally(counts=np.array([[18, 2]]), replicas=20, seed=1, labels=np.array([0]))
    (tmp_path / "certificate.json").write_text(dumps(certify(setting, tally), "scores.npz"))
    same: dict[str, Any] = {
        "score": "vote",
        "error": 0.05,
        "threats": ("inject",),
        "finished": 20,
        "shown": 20,
    }
    with pytest.raises(InvalidValue, match=r"error \(0.05 there, 0.01 here\)"):
        fixed(tmp_path, **same | {"error": 0.01})
    with pytest.raises(InvalidValue, match="got 30 where the results of 20"):
        fixed(tmp_path, replicas=30, **same)
    # More were trained by the older version, which had not ended.
    with pytest.raises(InvalidValue, match="got 30 where the results of 20"):
        fixed(tmp_path, replicas=30, **same | {"finished": 30})
    assert not (tmp_path / "claims.json").exists()
    assert fixed(tmp_path, **same) == (20,)


def test_costs_of_older_versions_say_some_of_what_was_claimed(tmp_path: Path) -> None:
    lines = [{"mode": mode} for mode in ("paper", "inject", "present", "compromise")]
    found = {"measured": [{"attackers": 0, "replicas": 20}], "lines": lines}
    (tmp_path / "certified.json").write_text(json.dumps({"all": found}))
    old: dict[str, Any] = {"finished": 20, "shown": 20, "costs": COSTS}
    with pytest.raises(InvalidValue, match="threats"):
        fixed(tmp_path, threats=("inject",), **old)
    with pytest.raises(InvalidValue, match="got 30 where the results of 20"):
        fixed(tmp_path, replicas=30, **old)
    assert fixed(tmp_path, **old) == (20,)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"looks": []}', '{"looks": ["20"]}', '{"looks": 20}'])
def test_damaged_claims_are_said_to_be(tmp_path: Path, content: str) -> None:
    (tmp_path / "claims.json").write_text(content)
    with pytest.raises(InvalidValue, match=r"claims\.json"):
        fixed(tmp_path, finished=20, shown=20)
