from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

from fedward.core.federation import Federation
from fedward.datasets import cifar10, mnist
from fedward.datasets.called_like import called_like


def area(*, width: float, height: float = 1.0) -> float:
    return width * height


@called_like(area)
def volume(**options: Any) -> float:
    """Of something two units deep."""
    return 2 * area(**options)


def test_the_keywords_are_those_of_the_other_and_the_words_its_own() -> None:
    assert inspect.signature(volume) == inspect.signature(area)
    assert get_type_hints(volume) == {"width": float, "height": float, "return": float}
    assert (volume.__name__, volume.__doc__) == ("volume", "Of something two units deep.")
    assert volume(width=3.0, height=2.0) == 12.0


def test_a_keyword_that_the_other_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        volume(width=3.0, depth=2.0)  # type: ignore[call-arg]


def test_loaders_of_one_format_differ_in_their_words_only() -> None:
    keywords = inspect.signature(mnist.load).parameters
    assert list(keywords) == ["seed", "data_dir", "users", "split", "alpha", "classes_per_user", "classes"]
    assert list(inspect.signature(cifar10.load).parameters) == [*keywords, "standardise"]
    assert get_type_hints(mnist.load)["return"] is Federation
    assert "Digits" in (mnist.load.__doc__ or "")
