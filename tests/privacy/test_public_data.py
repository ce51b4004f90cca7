from __future__ import annotations

from typing import Any

import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.public_data import PublicData
from fedward.privacy.terms import Terms

DECLARED = PublicData(features="net", users=3, source="CIFAR-100 (net.safetensors)", source_labels=True)


def guarantee(terms: Terms) -> Guarantee:
    return Guarantee(
        epsilon=1.0,
        delta=1e-5,
        unit="user",
        adjacency="add/remove",
        sampling="everyone in every round",
        accountant="pld",
        noise_source="seeded",
        rounds=1,
        terms=terms,
    )


def test_what_is_public_stands_in_the_guarantee_and_in_its_file() -> None:
    stated = guarantee(Terms(public=DECLARED))
    assert "fitted without labels to 3 public users who are not covered" in str(stated)
    assert "trained with labels on CIFAR-100 (net.safetensors), which is not covered" in str(stated)
    assert Guarantee.from_json(stated.to_json()) == stated


def test_terms_without_public_data_are_written_as_they_were_before_there_was_any() -> None:
    assert "public" not in Terms().to_json()
    assert Terms.from_json(Terms().to_json()) == Terms()
    assert Terms.from_json(Terms(public=DECLARED).to_json()).public == DECLARED


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"features": ""}, "must have a name"),
        ({"features": "two\nlines"}, "one line of text"),
        ({"features": "hog", "users": -1}, "public users must be"),
        ({"features": "hog", "labels": True}, "labels of public data need public data"),
        ({"features": "hog", "source_labels": True}, "need public data"),
        ({"features": "hog", "users": 2, "labels": "no"}, "must be true or false"),
    ],
)
def test_a_declaration_that_says_nothing_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises((InvalidType, InvalidValue), match=words):
        PublicData(**wrong)


def test_a_changed_file_is_refused() -> None:
    content = DECLARED.to_json()
    del content["labels"]
    with pytest.raises(InvalidValue, match="public data must have the keys"):
        PublicData.from_json(content)
