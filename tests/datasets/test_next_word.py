from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.datasets import next_word
from fedward.datasets.directory import MissingFile
from fedward.datasets.people import people


def line(user: Any, text: Any, **more: Any) -> str:
    return json.dumps({"user": user, "text": text, **more}) + "\n"


def some_people(number: int = 10) -> str:
    """Every user says its own name, the cat sat, and what nobody knows."""
    return "".join(
        line(f"u{i}", [f"n{i} the cat sat", f"the cat n{i} xyzzy the", "sat", "?!"], age=i)
        for i in reversed(range(number))
    )


def save(folder: Path, text: str, name: str = "texts.jsonl") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    (folder / "glove").mkdir(exist_ok=True)
    (folder / "glove" / "v.txt").write_text("the 1 2\ncat 3 4\nsat 5 6\nextra 7 8\n")
    return folder


def load(folder: Path, **options: Any) -> Federation:
    usual: dict[str, Any] = {"data_dir": folder, "seed": 0, "file": "texts.jsonl"}
    return next_word.load(**usual | options)


def said(federation: Federation, examples: Examples) -> list[tuple[str, str]]:
    vocabulary = federation.vocabulary
    assert vocabulary is not None
    assert isinstance(examples.x, Ragged)
    parts = torch.tensor_split(examples.x.values, examples.x.offsets[1:-1])
    return [
        (" ".join(vocabulary.word(int(token)) for token in part), vocabulary.word_of_label(int(label)))
        for part, label in zip(parts, examples.y, strict=True)
    ]


def test_every_known_word_is_predicted_from_what_stands_before_it_in_its_text(tmp_path: Path) -> None:
    federation = load(save(tmp_path, some_people()))
    assert federation.test is not None
    assert federation.num_users == 9
    assert federation.names.tolist() == sorted(federation.names.tolist())
    for examples in (federation.user(0), federation.test):
        assert said(federation, examples) == [
            ("<unknown>", "the"),
            ("<unknown> the", "cat"),
            ("<unknown> the cat", "sat"),
            ("the", "cat"),
            ("the cat <unknown> <unknown>", "the"),
        ]
    assert federation.num_classes == 5  # four words of GloVe, and unknown
    assert federation.vocabulary is not None
    assert federation.vocabulary.vectors is not None


def test_unknown_words_can_be_predicted_and_contexts_shortened(tmp_path: Path) -> None:
    federation = load(save(tmp_path, some_people()), unknown_labels=True, context=1, words=2)
    assert federation.num_classes == 3
    assert said(federation, federation.user(3)) == [
        ("<unknown>", "the"),
        ("the", "cat"),
        ("cat", "<unknown>"),
        ("the", "cat"),
        ("cat", "<unknown>"),
        ("<unknown>", "<unknown>"),
        ("<unknown>", "the"),
    ]


def test_texts_stay_with_their_user(tmp_path: Path) -> None:
    federation = load(save(tmp_path, some_people()), vocabulary="training", words=100)
    for user, name in enumerate(federation.names):
        assert f"n{name[1:]}" in said(federation, federation.user(user))[0][0]


def test_words_of_test_users_are_not_in_a_vocabulary_of_the_training_texts(tmp_path: Path) -> None:
    federation = load(save(tmp_path, some_people()), vocabulary="training", words=100)
    assert federation.vocabulary is not None
    assert federation.vocabulary.vectors is None
    own = {word for word in federation.vocabulary.words if word[0] == "n" and word[1:].isdigit()}
    assert own == {f"n{name[1:]}" for name in federation.names}
    assert len(own) == 9


def test_the_seed_chooses_users_but_not_the_test_users(tmp_path: Path) -> None:
    save(tmp_path, some_people(20))
    a, b = (load(tmp_path, users=4, seed=seed) for seed in (0, 1))
    assert a.test is not None
    assert b.test is not None
    assert a.names.tolist() != b.names.tolist()
    assert torch.equal(a.test.y, b.test.y)


def test_users_with_few_examples_take_no_part_and_long_ones_are_cut(tmp_path: Path) -> None:
    text = some_people() + line("silent", ["?"]) + line("short", ["the cat"]) + line("none", [])
    federation = load(save(tmp_path, text))
    assert not {"silent", "none"} & set(federation.names)
    assert federation.test is not None
    sizes = {*federation.sizes.tolist()}
    assert sizes <= {1, 5}
    assert not {"short"} & set(load(tmp_path, at_least=2).names)
    assert set(load(tmp_path, at_most=3).sizes.tolist()) <= {1, 3}
    # Cut after it was counted.
    assert load(tmp_path, at_least=5, at_most=2).sizes.tolist().count(2) >= 8
    with pytest.raises(InvalidValue, match=r"no training user of .*texts\.jsonl has 6 examples or more"):
        load(tmp_path, at_least=6)


def test_packed_files_are_read(tmp_path: Path) -> None:
    plain = load(save(tmp_path, some_people()))
    packed = load(save(tmp_path, some_people(), "texts.jsonl.gz"), file="texts.jsonl.gz")
    assert torch.equal(plain.examples.y, packed.examples.y)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one user, got an empty file"),
        ("not json\n", "line 1 is not JSON"),
        (line("a", ["x"]) + "\n", "line 2 is not JSON"),
        (line("a", ["x"]) + "[1, 2]\n", "a string 'user' on each line, but line 2 does not"),
        (line(7, ["x"]), "a string 'user' on each line, but line 1 does not"),
        (line("", ["x"]), "a string 'user' on each line"),
        (line("a", "x"), "a list 'text' of strings, but line 1 does not"),
        (line("a", ["x", 3]), "a list 'text' of strings"),
        ('{"user": "a"}\n', "a list 'text' of strings"),
        (line("a", ["x"]) + line("b", []) + line("a", ["y"]), "every user once, but line 3 has 'a' again"),
        (line("a", ["x"])[:-1], "its last line, 1, is cut off"),
        ("[" * 100_000 + "\n", "line 1 is not JSON"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=rf"texts\.jsonl must .*{message}"):
        load(save(tmp_path, text))


@given(st.data())
def test_a_file_cut_off_anywhere_is_refused_or_has_fewer_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = some_people(3).encode()
    length = data.draw(st.integers(0, len(whole) - 1))
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.write_bytes(whole[:length])
    if length and whole[length - 1 : length] == b"\n":
        assert [user for user, _ in people(path)] == ["u2", "u1", "u0"][: whole[:length].count(b"\n")]
    else:
        with pytest.raises(InvalidValue, match=r"cut\.jsonl must"):
            list(people(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"nothing\.jsonl must be a file of JSON lines.*; put it there"):
        load(tmp_path, file="nothing.jsonl")
    save(tmp_path, some_people())
    (tmp_path / "glove" / "v.txt").unlink()
    with pytest.raises(MissingFile, match=r"glove must hold the word vectors"):
        load(tmp_path)


def test_one_user_cannot_be_trained_on_and_tested(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="at least 2 users, one to train on, got 1"):
        load(save(tmp_path, line("a", ["the cat"])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_least": 0}, "at_least must be at least 1"),
        ({"at_most": 0}, "at_most must be at least 1"),
        ({"context": 0}, "context must be at least 1"),
        ({"test_share": 0.0}, "test share must be above 0"),
        ({"words": 0}, "words must be at least 1"),
        ({"vocabulary": "public"}, "vocabulary must be one of"),
        ({"users": 0}, "number of users must be at least 1"),
    ],
)
def test_wrong_options_are_refused_before_any_file_is_read(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        load(tmp_path, **options)


def test_a_switch_must_be_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(InvalidType, match="unknown_labels must be true or false, got 1"):
        load(tmp_path, unknown_labels=1)


def test_real_roles_of_shakespeare_are_read(real_data: Callable[[str], Path]) -> None:
    folder = real_data("shakespeare")
    federation = next_word.load(
        file="shakespeare/roles.jsonl", data_dir=folder, vocabulary="training", at_most=40, seed=0
    )
    assert federation.test is not None
    users = [(user, len(texts)) for user, texts in people(folder / "shakespeare" / "roles.jsonl")]
    assert len(users) == 1410
    assert sum(number for _, number in users) == 30_910
    assert 1150 < federation.num_users <= 1269  # nine tenths, without those who never say two words
    assert federation.num_classes == 2001
    assert federation.vocabulary is not None
    assert federation.vocabulary.words[:3] == ("the", "and", "i")
    assert set(federation.vocabulary.words) >= {"thou", "lord", "love"}
    assert int(federation.sizes.max()) == 40


def test_real_bloggers_are_read(real_data: Callable[[str], Path]) -> None:
    folder = real_data("blogs")
    real_data("glove")
    federation = next_word.load(data_dir=folder, users=50, at_most=50, seed=0)
    assert federation.num_users == 50
    assert sum(1 for _ in people(folder / "blogs" / "users.jsonl")) == 1215
    assert federation.sizes.tolist() == [50] * 50
    assert federation.test is not None
    assert len(federation.test) == 122 * 50  # a tenth of the users
