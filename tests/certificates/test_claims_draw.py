"""The draw of some claims: which of them name the same replicas, and which others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from certificates.small_certificate import replicas, setting
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import certify, draw_of_setting
from fedward.certificates.claims_draw import CostClaims, draw_of_claims
from fedward.certificates.confidence import Confidence

RULE: dict[str, Any] = {"looks": (12,), "method": "betting", "error": 0.01, "simultaneous": False}
CLAIMS: dict[str, Any] = {"score": "confidence", "threats": ("inject", "present"), "attendance": "drawn"}
COSTS = CostClaims(attackers=(0, 2), bounds={"all": 4.0})


def draw(**changes: Any) -> str:
    rule = {name: changes.get(name, value) for name, value in RULE.items()}
    claims = {name: changes.get(name, value) for name, value in CLAIMS.items()}
    return draw_of_claims(Confidence(**rule), **claims, costs=changes.get("costs"))


OTHERS: list[dict[str, Any]] = [
    {},
    {"looks": (24,)},
    {"method": "hoeffding"},
    {"method": "betting_sequence"},
    {"error": 0.05},
    {"simultaneous": True},
    {"score": "vote"},
    {"threats": ("inject",)},
    {"threats": ("inject", "present", "compromise")},
    {"attendance": "every-round"},
    {"costs": COSTS},
    {"costs": CostClaims(attackers=(0, 3), bounds={"all": 4.0})},
    {"costs": CostClaims(attackers=(0, 2), bounds={"all": 5.0})},
]


def test_whatever_is_claimed_is_in_the_draw() -> None:
    draws = [draw(**changes) for changes in OTHERS]
    assert len(set(draws)) == len(OTHERS)


def test_the_same_claims_have_the_same_draw_however_they_are_written() -> None:
    assert draw(threats=["present", "inject"]) == draw()
    assert draw(error=1e-2) == draw()
    assert draw(costs=COSTS) == draw(costs=CostClaims(attackers=(0, 2), bounds={"all": 4}))


def test_bounds_at_all_times_have_one_draw_for_every_number_of_replicas() -> None:
    looks = [(12,), (24,), (12, 24), (3, 12, 1000)]
    assert len({draw(method="betting_sequence", looks=each) for each in looks}) == 1
    fixed = [draw(method=method, looks=(m,)) for method in ("betting", "hoeffding") for m in (12, 24, 25)]
    assert len(set(fixed)) == len(fixed)


def test_a_certificate_is_of_replicas_that_were_drawn_for_it_or_says_they_were_not() -> None:
    own = draw_of_setting(setting(), "confidence")
    assert certify(setting(), replicas(draw=own)).draw == own
    assert certify(setting(), replicas()).draw == ""
    other = draw_of_setting(setting(threats=("inject",)), "confidence")
    with pytest.raises(
        InvalidValue, match=f"drawn for what is claimed, draw {own}, got those of draw {other}"
    ):
        certify(setting(), replicas(draw=other))


def test_stored_replicas_keep_their_draw_and_those_without_are_as_they_always_were() -> None:
    bound, free = replicas(draw="0a"), replicas()
    for made, other in itertools.permutations((bound, free)):
        again = type(made).from_bytes(made.to_bytes())
        assert (again.draw, again.digest()) == (made.draw, made.digest())
        assert made.digest() != other.digest()
        assert made.votes().draw == made.draw
    # Of commit fc34a4a: a certificate of an older version names this digest.
    assert free.digest() == "7c8f9c2ed752bb80df4c8dcd8ee99189"
    with pytest.raises(InvalidValue, match="draw must be hexadecimal"):
        replicas(draw="x")
