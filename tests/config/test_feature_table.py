from __future__ import annotations

from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
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


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("hogs", "must be one of hog, scattering"),
        ({"name": "hog", "whiten": 0.1}, "public_users must be at least 1"),
        ({"name": "hog", "cells": 0}, "cells must be"),
        ({"name": "hog", "neighbours": 3, "public_users": 2}, "neighbours and dimensions belong together"),
        ({"name": "hog", "colour": 1}, "unknown key 'colour'"),
    ],
)
def test_mistakes_are_found_before_any_data_is_loaded(table: Any, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        from_content(changed(WITH, data__public_features=table))


def test_no_data_set_has_lost_a_key_to_it() -> None:
    content = changed(CONTENT, data={"name": "synthetic", "users": 10, "features": 7})
    assert tuple(from_content(content).load_data().examples.x.shape[1:]) == (7,)  # type: ignore[union-attr]
