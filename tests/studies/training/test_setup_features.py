from __future__ import annotations

from typing import Any

from fedward.config.experiment import from_content
from fedward.studies.training.setup import prepare
from tiny_experiment import CONTENT, changed

TABLE = {"name": "hog", "cells": 4, "public_users": 4, "whiten": 0.1, "rank": 16}
WITH = changed(
    CONTENT,
    data__public_features=TABLE,
    privacy__users=6,
    model={"name": "linear_head"},
    algorithm__local={"name": "class_means"},
    algorithm__sampler={"name": "everyone"},
    rounds=1,
)


def test_a_table_of_features_makes_a_federation_of_vectors_and_stands_in_the_guarantee() -> None:
    setup = prepare(from_content(WITH))
    assert setup.federation.num_users == 6
    assert tuple(setup.federation.examples.x.shape[1:]) == (16,)  # type: ignore[union-attr]
    assert setup.planned.terms.public == setup.federation.public
    assert "public features hog, fitted without labels to 4 public users who are not covered" in str(
        setup.planned
    )
    assert setup.algorithm.spent(6, 1).terms.public == setup.federation.public


def test_a_name_alone_is_short_for_a_table() -> None:
    short, long = (
        from_content(changed(WITH, data__public_features=each, privacy__users=10))
        for each in ("given", {"name": "given"})
    )
    assert short == long
    assert prepare(short).federation.num_users == 10


def test_a_feature_of_ones_own_is_named_by_its_class() -> None:
    class Corner:
        """The first number of a picture, twice."""

        source = ""
        source_labels = False

        def compute(self, x: Any, vocabulary: Any) -> Any:
            return x.flatten(1)[:, :1].repeat(1, 2) + 0.5

    content = changed(WITH, data__public_features=Corner(), privacy__users=10)
    setup = prepare(from_content(content))
    assert tuple(setup.federation.examples.x.shape[1:]) == (2,)  # type: ignore[union-attr]
    assert setup.planned.terms.public is not None
    assert setup.planned.terms.public.features == "Corner"
    assert "Corner declares of itself is taken as it is" in str(setup.planned)
