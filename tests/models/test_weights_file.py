from __future__ import annotations

from dataclasses import replace

from fedward.models.weights_file import About

ABOUT = About(model={"name": "mlp"}, data={}, training={}, start="", seed=1, wanted=2, versions={})


def test_an_option_that_is_not_given_makes_no_other_training() -> None:
    """Later versions have options that the file of an earlier one does not know."""
    assert ABOUT.same_training(replace(ABOUT, model={"name": "mlp", "hidden": None})) == []
    assert ABOUT.same_training(replace(ABOUT, model={"name": "mlp", "hidden": 32})) == ["model"]
