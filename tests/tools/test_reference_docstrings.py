"""Examples of docstrings get fences, and nothing else is touched."""

from __future__ import annotations

import pytest

pytest.importorskip("griffe", reason="griffe, which reads docstrings, is not installed")

from reference_docstrings import fenced


def test_an_example_gets_a_fence_up_to_the_next_empty_line() -> None:
    assert fenced("One.\n\n>>> a = 1\n>>> a\n1\n\nTwo.") == (
        "One.\n\n```pycon\n>>> a = 1\n>>> a\n1\n```\n\nTwo."
    )


def test_an_indented_example_keeps_its_indentation() -> None:
    assert fenced("One:\n\n    >>> 1\n    1") == "One:\n\n    ```pycon\n    >>> 1\n    1\n    ```"


def test_a_docstring_without_an_example_stays_as_it_is() -> None:
    assert fenced("One >>> two.\n\n    s = Σ x\n") == "One >>> two.\n\n    s = Σ x\n"
