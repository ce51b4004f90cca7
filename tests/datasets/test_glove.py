from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.vocabulary import tokenize
from fedward.datasets import glove
from fedward.datasets.directory import MissingFile

LINES = "the 0.5 -1 2e-1\n, 9 9 9\n'm 1 1 1\nu.s. 8 8 8\ncat 0 0.25 3\n. . 7 7 7\ncafé 4 5 6\n"


def save(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_words_come_in_the_order_of_the_file_with_their_vectors(tmp_path: Path) -> None:
    found = glove.read(save(tmp_path / "v.txt", LINES))
    assert found.words == ("the", "'m", "cat", "café")
    assert found.vectors is not None
    assert found.vectors.dtype == torch.float32
    expected = torch.tensor([[0.5, -1, 0.2], [1, 1, 1], [0, 0.25, 3], [4, 5, 6]])
    assert torch.equal(found.vectors, expected)


@pytest.mark.parametrize(("words", "last"), [(1, "the"), (3, "cat"), (4, "café"), (100, "café")])
def test_only_the_first_words_are_taken(tmp_path: Path, words: int, last: str) -> None:
    found = glove.read(save(tmp_path / "v.txt", LINES), words)
    assert found.words[-1] == last
    assert len(found.words) == min(words, 4)


def test_what_lies_behind_the_last_word_is_not_read(tmp_path: Path) -> None:
    path = save(tmp_path / "v.txt", LINES.encode() + b"\xff\xff broken")
    assert len(glove.read(path, 4).words) == 4
    with pytest.raises(InvalidValue, match=r"v\.txt must end with a line break; its last line, 8"):
        glove.read(path)


def test_every_word_can_be_met_in_a_text(tmp_path: Path) -> None:
    found = glove.read(save(tmp_path / "v.txt", LINES))
    for word in found.words:
        assert found.encode(word) == [found.token(word)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one word and its vector, got none"),
        (", 1 2\n", "at least one word"),
        ("the\n", "a word and its finite numbers on each line, but line 1 does not"),
        ("\n", "line 1 does not"),
        ("the 1 2\ncat 1\n", "a word and 2 finite numbers on each line, but line 2 does not"),
        ("the 1 2\ncat 1 two\n", "line 2 does not"),
        ("the 1 2\ncat 1 nan\n", "line 2 does not"),
        ("the 1 2\ncat 1 1e99\n", "line 2 does not"),
        ("the 1 2\n\ncat 1 2\n", "line 2 does not"),
        ("the 1 2\ncat 1 2\nthe 3 4\n", "every word once, but line 3 has 'the' again"),
        ("the 1 2\ncat 1 2", "its last line, 2, is cut off"),
        (b"the 1 2\ncaf\xe9 1 2\n", "UTF-8 text, but line 2 is not"),
        ("<html><body>Not found</body></html>\n", "line 1 does not"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_line(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(InvalidValue, match=rf"v\.txt must .*{message}"):
        glove.read(save(tmp_path / "v.txt", text))


@given(st.integers(0, len(LINES.encode()) - 1))
def test_a_file_cut_off_anywhere_is_refused_or_has_fewer_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    whole = LINES.encode()
    path = save(tmp_path_factory.getbasetemp() / "cut.txt", whole[:length])
    if length and whole[length - 1 : length] == b"\n":
        full = glove.read(save(path.with_name("full.txt"), whole))
        assert full.words[: len(glove.read(path).words)] == glove.read(path).words
    else:
        with pytest.raises(InvalidValue, match=r"cut\.txt must"):
            glove.read(path)


def test_a_number_of_words_must_be_whole_and_positive(tmp_path: Path) -> None:
    path = save(tmp_path / "v.txt", LINES)
    with pytest.raises(InvalidValue, match="words must be at least 1, got 0"):
        glove.read(path, 0)
    with pytest.raises(InvalidType, match="words must be a whole number"):
        glove.read(path, 2.5)  # type: ignore[arg-type]


def test_the_usual_file_is_preferred_then_the_only_one_then_the_one_asked_for(tmp_path: Path) -> None:
    save(tmp_path / "other.txt", LINES)
    assert glove.find(tmp_path).name == "other.txt"
    save(tmp_path / "third.txt", LINES)
    with pytest.raises(InvalidValue, match=r"holds other\.txt, third\.txt: say which one to use as vectors"):
        glove.find(tmp_path)
    save(tmp_path / glove.USUAL, LINES)
    assert glove.find(tmp_path).name == glove.USUAL
    assert glove.find(tmp_path, "third.txt").name == "third.txt"


@pytest.mark.parametrize("name", [None, "glove.6B.300d.txt"])
def test_a_missing_file_is_named_with_where_to_get_it(tmp_path: Path, name: str | None) -> None:
    wanted = name or glove.USUAL
    message = rf"glove must hold the word vectors {wanted}, but there is no such file; .*{glove.SOURCE}"
    with pytest.raises(MissingFile, match=message):
        glove.find(tmp_path / "glove", name)
    (tmp_path / "glove").mkdir()
    save(tmp_path / "glove" / "x.txt", LINES)
    if name is not None:
        with pytest.raises(MissingFile, match=r"it holds x\.txt; put it there"):
            glove.find(tmp_path / "glove", name)


def test_real_glove_has_its_words_and_vectors(real_data: Callable[[str], Path]) -> None:
    found = glove.read(glove.find(real_data("glove") / "glove"), 5000)
    assert found.words[:5] == ("the", "of", "to", "and", "in")
    assert found.vectors is not None
    assert found.vectors.shape == (5000, 50)
    published = torch.tensor([0.418, 0.24968, -0.41242, 0.1217, 0.34527])
    assert torch.allclose(found.vectors[0, :5], published, atol=0.002)
    assert all(tokenize(word) == [word] for word in found.words)

    def near(a: str, b: str) -> float:
        va, vb = (found.vectors[found.token(word) - 2] for word in (a, b))  # type: ignore[index]
        return float(torch.nn.functional.cosine_similarity(va, vb, dim=0))

    assert near("king", "queen") > 0.6 > near("king", "percent")
