from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.datasets.words import check_vocabulary, choose_words

TEXTS = ["b a b", "c! B, a", "d"]


def never() -> list[str]:
    raise AssertionError("the training texts were looked at")


def test_words_of_glove_do_not_depend_on_the_texts(tmp_path: Path) -> None:
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "v.txt").write_text("x 1 2\ny 3 4\nz 5 6\n")
    found = choose_words("glove", 2, None, tmp_path, never)
    assert found.words == ("x", "y")
    assert found.vectors is not None


def test_words_of_the_training_texts_are_the_most_frequent_then_the_first_in_the_alphabet(
    tmp_path: Path,
) -> None:
    assert choose_words("training", 10, None, tmp_path, lambda: TEXTS).words == ("b", "a", "c", "d")
    few = choose_words("training", 3, None, tmp_path, lambda: TEXTS)
    assert few.words == ("b", "a", "c")
    assert few.vectors is None


def test_texts_without_a_word_make_no_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="training texts must hold at least one word, got none"):
        choose_words("training", 10, None, tmp_path, lambda: ["?!", ""])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("glov", 10, None), "vocabulary must be one of glove, training, got 'glov'; did you mean 'glove'"),
        (("glove", 0, None), "words must be at least 1, got 0"),
        (("training", 5, "v.txt"), "vectors must be left out with vocabulary training, got 'v.txt'"),
    ],
)
def test_wrong_choices_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        check_vocabulary(*arguments)
