"""Sentiment140: tweets by their users, positive or negative."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, one_of, open_unit, whole
from fedward.core.federation import Federation
from fedward.core.texts import encode_all
from fedward.datasets.directory import MissingFile, require_data_directory
from fedward.datasets.federate import arrange, gather
from fedward.datasets.held_out import choose_held_out
from fedward.datasets.partition import Split
from fedward.datasets.tweets import TweetIndex, texts_of
from fedward.datasets.words import check_vocabulary, choose_words

FILES = ("training.1600000.processed.noemoticon.csv", "users.csv")
SOURCE = "http://help.sentiment140.com/for-students"
TESTS = ("users", "tweets")


def load(
    *,
    seed: int,
    data_dir: str | os.PathLike[str] | None = None,
    file: str | None = None,
    users: int | None = None,
    at_least: int = 1,
    test: str = "users",
    test_share: float = 0.2,
    vocabulary: str = "glove",
    words: int = 20_000,
    vectors: str | None = None,
    longest: int | None = None,
) -> Federation:
    """Tweets as tokens, of different lengths; label 0 negative, 1 positive. A user is a Twitter account.

    The file lies in ``DIR/sent140``: ``training.1600000.processed.noemoticon.csv``, or else ``users.csv``
    with the same columns. No download is offered: no official checksum is published. Rules:

    - Polarity 0 is label 0, 4 is label 1; neutral tweets (2) are dropped.
    - Text is cut by ``fedward.core.vocabulary.tokenize``. A word that the vocabulary lacks is token 1. A
      tweet without any known word is kept, as one such token; their number is logged.
    - Users with fewer than ``at_least`` tweets, test tweets included, take no part. One tweet is enough.
    - With ``test = "users"`` a share of the users is held out, the same for every seed. With ``"tweets"`` the
      latest tweets of each user are test tweets, the share rounded down: everybody keeps one to train on.

    ::

        federation = sentiment140.load(at_least=10, users=200, seed=0)

    Args:
      seed: decides which users take part.
      file: the name of the file in ``DIR/sent140``, if not one of these two.
      users: how many users; all that are left for training if not given.
      at_least: how many tweets a user must have.
      test: ``users`` or ``tweets``.
      test_share: of the users, or of each user's tweets.
      vocabulary: ``glove``: the words of a file in ``DIR/glove``, with their vectors. ``training``: the most
        frequent words of the training tweets, without vectors; what they tell of the users **no ε covers**.
      words: how many words at most.
      vectors: the name of the GloVe file; ``glove.6B.50d.txt``, or the only one there, if not given.
      longest: how many words of a tweet are kept, the first ones; all if not given.

    Go, Bhayani and Huang, Twitter sentiment classification using distant supervision, 2009. By user: Caldas
    et al., LEAF: a benchmark for federated settings, 2018.
    """
    whole("at_least", at_least)
    one_of("test", test, TESTS)
    open_unit("test share", test_share)
    check_vocabulary(vocabulary, words, vectors)
    if longest is not None:
        whole("longest", longest)
    split = Split(name="natural", users=users)
    rng = stream(seed, "partition")
    folder = require_data_directory(data_dir)
    path = find_file(folder / "sent140", file)

    index = TweetIndex.of(path)
    candidates, tested = _divide(index, at_least, test, test_share)
    rows = np.flatnonzero(candidates)
    order, owners = arrange(index.labels[rows], split, rng, index.users[rows])
    train = rows[order]
    if test == "tweets":
        tested &= np.isin(index.users, owners)
        if not tested.any():
            raise InvalidValue(f"test share {test_share} of each user's tweets rounds to none for all users")
    trained = np.zeros(len(tested), dtype=bool)
    trained[train] = True
    known = choose_words(vocabulary, words, vectors, folder, lambda: texts_of(path, trained))

    held = trained | tested
    tokens, strange = encode_all(texts_of(path, held), known, longest)
    logging.getLogger("fedward").info(
        "%d of %d tweets hold no word of the vocabulary: each is one unknown token", strange, len(tokens)
    )
    place = np.cumsum(held) - 1
    return gather(
        (tokens.select(torch.from_numpy(place[train])), index.labels[train]),
        (tokens.select(torch.from_numpy(place[tested])), index.labels[tested]),
        owners,
        index.names,
        num_classes=2,
        vocabulary=known,
    )


def find_file(folder: Path, file: str | None = None) -> Path:
    """The file with the tweets."""
    names = FILES if file is None else (file,)
    for name in names:
        if os.path.isfile(folder / name):
            return folder / name
    raise MissingFile(
        f"{folder} must hold {' or '.join(names)}, but there is no such file; put it there, "
        f"from trainingandtestdata.zip of {SOURCE}"
    )


def _divide(
    index: TweetIndex, at_least: int, test: str, share: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which tweets can be trained on, and which are test tweets."""
    counts = np.bincount(index.users, minlength=len(index.names))
    able = counts >= at_least
    if not able.any():
        raise InvalidValue(f"at_least must be at most {counts.max()}, the tweets of a user, got {at_least}")
    if test == "users":
        tested_users = np.zeros(len(able), dtype=bool)
        tested_users[able] = choose_held_out(index.names[able], share)
        return (able & ~tested_users)[index.users], tested_users[index.users]

    order = np.lexsort((index.times, index.users))  # stable: equal times keep the order of the file
    after = np.cumsum(counts)[index.users[order]] - np.arange(len(order))
    late = np.zeros(len(order), dtype=bool)
    late[order] = after <= np.floor(share * counts)[index.users[order]]
    return ~late & able[index.users], late & able[index.users]
