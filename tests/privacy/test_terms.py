from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.privacy.terms import ExactAttackers, Terms

EXACT = st.builds(ExactAttackers, each=st.integers(0, 3), attackers=st.integers(3, 9))


@st.composite
def any_terms(draw: st.DrawFn) -> Terms:
    divisor = draw(st.none() | st.floats(1e-3, 1e6))
    noise_of: Any = draw(st.sampled_from(["server", "user", "cohort", "looks"]))
    of_cohort = noise_of == "cohort"
    return Terms(
        noise_of=noise_of,
        divisor=divisor,
        declared=divisor is not None and draw(st.booleans()),
        cohort=draw(st.none() | st.floats(1, 1e6)) if of_cohort else None,
        claimed_rate=draw(st.none() | st.floats(1e-3, 1)) if of_cohort else None,
        epoch=draw(st.none() | st.integers(2, 99)),
        staged=draw(st.none() | EXACT),
        deviating=draw(st.booleans()),
        public_sizes=draw(st.booleans()),
        handed_out=draw(st.integers(0, 10**6)),
        looks=draw(st.booleans()),
    )


@given(any_terms())
def test_terms_come_back_from_their_json(terms: Terms) -> None:
    assert Terms.from_json(terms.to_json()) == terms


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise_of": "nobody"}, "noise of must be one of server, user, cohort, looks"),
        ({"divisor": 0.0}, "divisor must be positive"),
        ({"divisor": float("inf")}, "divisor must be positive and finite"),
        ({"declared": True}, "a divisor that was declared must be given"),
        ({"declared": 1, "divisor": 5.0}, "declared must be true or false, got 1"),
        ({"cohort": 5.0}, "needs noise of the cohort, got 'server'"),
        ({"claimed_rate": 0.5}, "needs noise of the cohort"),
        ({"noise_of": "cohort", "claimed_rate": 1.5}, "claimed rate must be above 0 and at most 1"),
        ({"staged": (2, 4)}, "staged must be a number of attackers"),
        ({"handed_out": -1}, "examples handed out must be at least 0"),
        ({"deviating": "attackers need not follow the local protocol"}, "deviating must be true or false"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Terms(**changes)


def test_more_attackers_in_a_cohort_than_there_are_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most the number of attackers, 2, got 3"):
        ExactAttackers(each=3, attackers=2)


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        Terms().to_json() | {"more": 1},
        Terms().to_json() | {"staged": {"each": 1}},
        Terms().to_json() | {"divisor": float("nan")},
        Terms().to_json() | {"handed_out": True},
    ],
    ids=str,
)
def test_other_content_is_refused(content: Any) -> None:
    with pytest.raises(InvalidValue):
        Terms.from_json(content)


def test_the_divisor_and_what_was_handed_out_are_said() -> None:
    assert Terms().divisor_in_words == ""
    assert Terms(divisor=50.0, declared=True).divisor_in_words == "divisor m̄ = 50, declared"
    assert Terms(divisor=50.0).divisor_in_words == "divisor m̄ = 50, from the number of users"
    assert "1 example of honest users" in Terms(handed_out=1).handed_out_in_words
    assert "1,200 examples of honest users" in Terms(handed_out=1200).handed_out_in_words
