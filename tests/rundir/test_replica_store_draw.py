"""Certifications in one directory and in others: which replicas they are about."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedward
from command_line import answer
from fedward.backends.compute import IN_PROCESS
from fedward.base.arrays_file import read_array
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate_file import loads
from fedward.certificates.checking import check
from fedward.certificates.claims import Claims
from fedward.rundir.replica_store import ReplicaDirectory, stored_draw, stored_files
from fedward.studies.replicas.replica_results import load_replicas
from studies.replicas_wanted import go, wanted
from tiny_experiment import CONTENT as TINY
from tiny_experiment import TEXT, changed

# Everybody is in every cohort: models differ by noise alone.
CONTENT = changed(TINY, rounds=1, algorithm__sampler={"name": "everyone"})
ATTACK: dict[str, Any] = {
    "who": {"name": "random", "count": 1},
    "data": [{"name": "label_flip", "source": 1, "target": 0}],
    "cost_bound": 10.0,
}


def certified(path: Path, replicas: int, content: dict[str, Any] = CONTENT, **options: Any) -> Path:
    fedward.certify(content, replicas=replicas, out=path, compute=IN_PROCESS, quiet=True, **options)
    return path


def rows(path: Path) -> list[bytes]:
    """What each replica says about all test examples, bit by bit."""
    return [row.tobytes() for row in load_replicas(path).scores]


def test_more_replicas_in_another_directory_share_no_noise_with_those_that_were_seen(
    tmp_path: Path,
) -> None:
    seen = load_replicas(certified(tmp_path / "a", 12)).scores
    more = load_replicas(certified(tmp_path / "b", 24)).scores
    for one, other in itertools.product(seen, more):
        # Noise moves every confidence: hardly one is the same, and with the same noise all are.
        assert (one == other).mean() < 0.01
    # Nor is it the same noise in other places or with another sign: the models have nothing in common.
    moved = np.log(np.concatenate([seen, more]).reshape(36, -1))
    correlated = np.abs(np.corrcoef(moved - moved.mean(axis=0)))
    assert correlated[:12, 12:].max() < 0.9


def test_the_same_claims_are_about_the_same_replicas_wherever_they_are(tmp_path: Path) -> None:
    a, b = (certified(tmp_path / name, 12, threats=["inject"]) for name in "ab")
    for name in ("certificate.json", "certificate-scores.npz", "claims.json"):
        assert (a / name).read_bytes() == (b / name).read_bytes()
    assert rows(a) == rows(b)


@pytest.mark.parametrize(
    "other", [{"error": 0.05}, {"simultaneous": True}, {"threats": ["inject"]}, {"score": "vote"}]
)
def test_every_other_claim_is_about_other_replicas(tmp_path: Path, other: dict[str, Any]) -> None:
    a, b = certified(tmp_path / "a", 3), certified(tmp_path / "b", 3, **other)
    assert not set(rows(a)) & set(rows(b))


def test_bounds_for_all_times_go_on_with_the_same_replicas_in_any_directory(tmp_path: Path) -> None:
    method: dict[str, Any] = {"method": "betting_sequence"}
    first, more = certified(tmp_path / "a", 12, **method), certified(tmp_path / "b", 24, **method)
    assert rows(more)[:12] == rows(first)
    assert rows(certified(tmp_path / "a", 24, **method)) == rows(more)
    said = loads((tmp_path / "b" / "certificate.json").read_text()).says
    assert "fixed beforehand" not in " ".join(said)


def test_claims_and_certificate_name_the_draw_that_their_replicas_have(tmp_path: Path) -> None:
    path = certified(tmp_path / "a", 4, error=0.05)
    own = Claims(replicas=4, error=0.05).draw()
    assert json.loads((path / "claims.json").read_text())["draw"] == own
    assert json.loads((path / "certificate.json").read_text())["stored"]["draw"] == own
    assert stored_draw(path) == own
    stored = loads((path / "certificate.json").read_text())
    found = check(stored, (path / "certificate-scores.npz").read_bytes())
    assert (found.problems, found.notes) == ((), ())


def costs(path: Path) -> set[float]:
    """What the attack costs in each replica, with and without attackers."""
    (file,) = stored_files(path)
    names = np.load(file).files
    return {float(value) for name in names if "/cost." in name for value in read_array(file, name)}


def test_costs_have_a_draw_of_their_own_with_the_bound_in_it(tmp_path: Path) -> None:
    attacked = CONTENT | {"attack": ATTACK}
    higher = CONTENT | {"attack": ATTACK | {"cost_bound": 11.0}}
    paths = [
        certified(tmp_path / "a", 3, attacked, attackers=[2]),
        certified(tmp_path / "b", 4, attacked, attackers=[2]),
        certified(tmp_path / "c", 3, higher, attackers=[2]),
    ]
    draws = [json.loads((path / "claims.json").read_text())["draw"] for path in paths]
    assert [stored_draw(path) for path in paths] == draws
    assert len({*draws, Claims(replicas=3).draw()}) == 4
    for one, other in itertools.combinations(paths, 2):
        assert costs(one)
        assert not costs(one) & costs(other)


def test_the_number_is_fixed_once_a_replica_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before anybody saw anything, the replicas still belong to the number that was claimed."""
    saved = ReplicaDirectory.save_block

    def killed(self: ReplicaDirectory, block: Any) -> None:
        saved(self, block)
        raise KeyboardInterrupt

    monkeypatch.setattr(ReplicaDirectory, "save_block", killed)
    with pytest.raises(KeyboardInterrupt):
        certified(tmp_path / "a", 4)
    monkeypatch.undo()
    for told, options in (
        ("got 6 where 4 were claimed before they were trained.*fresh replicas", {"replicas": 6}),
        (r"error \(0.01 there, 0.05 here\).*fresh replicas", {"replicas": 4, "error": 0.05}),
    ):
        with pytest.raises(InvalidValue, match=told):
            certified(tmp_path / "a", **options)
    assert rows(certified(tmp_path / "a", 4)) == rows(certified(tmp_path / "b", 4))


def test_replicas_that_were_shown_are_not_certified_as_if_nobody_had_seen_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(TEXT)
    out = ["--out", tmp_path / "run", "--workers", 0]
    for replicas in (3, 4):
        made = answer("replicas", file, "-m", replicas, *out, monkeypatch=monkeypatch, capsys=capsys)
        assert made.code == 0
    for method in ("betting", "betting_sequence"):
        asked = ("certify", file, "-m", 4, "--method", method, *out)
        refused = answer(*asked, monkeypatch=monkeypatch, capsys=capsys)
        assert refused.code == 2
        told = " ".join(refused.err.split())
        assert "what is claimed must be fixed before replicas are trained" in told
        assert "other claims get fresh replicas there" in told
    assert not (tmp_path / "run" / "claims.json").exists()
    elsewhere = ("certify", file, "-m", 4, "--out", tmp_path / "fresh", "--workers", 0)
    assert answer(*elsewhere, monkeypatch=monkeypatch, capsys=capsys).code == 0
    assert not set(rows(tmp_path / "run")) & set(rows(tmp_path / "fresh"))
    added = answer(
        *("replicas", file, "-m", 6, "--out", tmp_path / "fresh", "--workers", 0),
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
    assert added.code == 2
    assert "got some that were drawn for a certificate (fedward certify)" in " ".join(added.err.split())


def begun_by_fc34a4a(path: Path, replicas: int) -> None:
    """A directory as that commit left it when it was killed: claims without a draw, one block finished."""
    plain = wanted(replicas, CONTENT, (), block=2)
    go(plain, path, stop=2 * plain.steps["first round"] + 2 * plain.steps["evaluation"] + 1)
    assert len(stored_files(path)) == 1
    claims = {"looks": [replicas], "score": "confidence", "method": "betting", "error": 0.01}
    claims |= {"simultaneous": False, "threats": ["compromise", "inject", "present"], "attendance": "drawn"}
    (path / "claims.json").write_text(json.dumps(claims, indent=2) + "\n")


@pytest.mark.usefixtures("edited_by_hand")
def test_an_older_directory_goes_on_to_the_bits_it_would_have_had_and_says_so(tmp_path: Path) -> None:
    begun_by_fc34a4a(tmp_path / "old", 5)
    go(wanted(5, CONTENT, ()), tmp_path / "plain")
    claims = (tmp_path / "old" / "claims.json").read_bytes()
    path = certified(tmp_path / "old", 5)
    assert rows(path) == rows(tmp_path / "plain")
    assert (path / "claims.json").read_bytes() == claims
    stored = loads((path / "certificate.json").read_text())
    assert stored.certificate.draw == ""
    found = check(stored, (path / "certificate-scores.npz").read_bytes())
    assert found.holds
    assert "its replicas are not bound to what is claimed" in " ".join(found.notes)


@pytest.mark.usefixtures("edited_by_hand")
def test_blocks_of_two_draws_do_not_mix(tmp_path: Path) -> None:
    path = certified(tmp_path / "a", 4, block=2)
    first, second = stored_files(path)
    arrays = dict(np.load(second))
    del arrays["draw"]
    np.savez(second, **arrays)
    with pytest.raises(InvalidValue, match="must hold replicas of one draw, got those of 2"):
        certified(path, 4)
    assert first.exists()
