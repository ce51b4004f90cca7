"""Predicting the next word of what a user writes, from a file of JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue, open_unit, whole
from fedward.core.federation import Federation
from fedward.datasets.directory import MissingFile, require_data_directory
from fedward.datasets.federate import arrange, gather
from fedward.datasets.held_out import choose_held_out
from fedward.datasets.partition import Split
from fedward.datasets.people import people
from fedward.datasets.windows import Windows
from fedward.datasets.words import check_vocabulary, choose_words


def load(
    *,
    seed: int,
    file: str = "blogs/users.jsonl",
    data_dir: str | os.PathLike[str] | None = None,
    users: int | None = None,
    at_least: int = 1,
    at_most: int | None = None,
    context: int = 10,
    words: int = 2000,
    vocabulary: str = "glove",
    vectors: str | None = None,
    unknown_labels: bool = False,
    test_share: float = 0.1,
) -> Federation:
    """The words before a word as tokens, of different lengths; the label is that word.

        x = tokens[max(0, i - context) : i],    y = tokens[i] - 1

    Class 0 is an unknown word and class c is the word of token c + 1; the federation's vocabulary has
    ``label(word)`` and ``word_of_label(class)``. There are ``words`` + 1 classes. Rules:

    - One line of the file is one user: ``{"user": "ann", "text": ["a post", "another"]}``, plain or ``.gz``.
    - Text is cut by ``fedward.core.vocabulary.tokenize``; a context never reaches into another text, and the
      first word of a text is not predicted.
    - A word that the vocabulary lacks is token 1. It is not predicted either, unless ``unknown_labels``.
    - Users with fewer than ``at_least`` examples take no part; those without any never do.
    - A share of the users is held out for testing, the same for every seed.

    ::

        federation = next_word.load(file="shakespeare/roles.jsonl", users=200, at_least=100, seed=0)

    Args:
      seed: decides which users take part.
      file: the file, from DIR.
      users: how many users; all that are left for training if not given.
      at_least: how many examples a user must have.
      at_most: how many examples of each user are used, test users included, the first ones; all if not given.
      context: how many words before it a word is predicted from, at most.
      words: how many words at most.
      vocabulary: ``glove``: the words of a file in ``DIR/glove``, with their vectors. ``training``: the most
        frequent words of the training users, without vectors; what they tell of the users **no ε covers**.
      vectors: the name of the GloVe file; ``glove.6B.50d.txt``, or the only one there, if not given.
      unknown_labels: whether "unknown" is predicted like a word.
      test_share: of the users.

    McMahan, Ramage, Talwar and Zhang, Learning differentially private recurrent language models, 2018.
    """
    whole("at_least", at_least)
    if at_most is not None:
        whole("at_most", at_most)
    whole("context", context)
    if not isinstance(unknown_labels, bool):
        raise InvalidType(f"unknown_labels must be true or false, got {unknown_labels!r}")
    open_unit("test share", test_share)
    check_vocabulary(vocabulary, words, vectors)
    split = Split(name="natural", users=users)
    rng = stream(seed, "partition")
    folder = require_data_directory(data_dir)
    path = folder / file
    if not os.path.isfile(path):
        raise MissingFile(
            f"{path} must be a file of JSON lines, one user on each, but there is no such file; put it there"
        )

    names = np.array([user for user, _ in people(path)])
    alphabet = np.argsort(names)
    tested = choose_held_out(names, test_share)
    known = choose_words(vocabulary, words, vectors, folder, lambda: _texts(path, ~tested))
    windows = Windows.of((texts for _, texts in people(path)), known, context, unknown_labels)
    able = np.bincount(windows.owners, minlength=len(names)) >= at_least
    if at_most is not None:
        windows = windows.first(at_most)
    owner = windows.owners
    rows, test_rows = (np.flatnonzero((able & part)[owner]) for part in (~tested, tested))
    for part, found in (("training", rows), ("test", test_rows)):
        if not len(found):
            raise InvalidValue(f"no {part} user of {path} has {at_least} examples or more")
    ids = np.argsort(alphabet)[owner[rows]]
    order, owners = arrange(np.zeros(len(rows)), split, rng, ids)
    return gather(
        windows.cut(rows[order]),
        windows.cut(test_rows),
        owners,
        names[alphabet],
        num_classes=known.num_labels,
        vocabulary=known,
    )


def _texts(path: Path, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[str]:
    for (_, texts), keep in zip(people(path), wanted.tolist(), strict=True):
        if keep:
            yield from texts
