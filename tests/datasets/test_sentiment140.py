from __future__ import annotations

import csv
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import tokenize
from fedward.datasets import sentiment140
from fedward.datasets.directory import MissingFile
from fedward.datasets.tweets import TweetIndex, tweets

DATE = "Mon Apr 06 22:19:45 PDT 2009"

Row = tuple[str, str, str, str]
"""Polarity, date, user, text."""


def table(rows: list[Row]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for number, (polarity, date, user, text) in enumerate(rows):
        writer.writerow([polarity, number, date, "NO_QUERY", user, text])
    return buffer.getvalue()


def day(number: int) -> str:
    return f"Mon Apr {number:02} 22:19:45 PDT 2009"


def some_rows(users: int = 10, each: int = 4) -> list[Row]:
    """Every tweet names its user and its number; later ones stand first in the file."""
    return [
        ("4" if (u + t) % 2 else "0", day(t + 1), f"u{u}", f"w{u} t{t} the cat")
        for t in reversed(range(each))
        for u in range(users)
    ]


def save(folder: Path, rows: list[Row], name: str = "users.csv", encoding: str = "utf8") -> Path:
    (folder / "sent140").mkdir(exist_ok=True)
    (folder / "sent140" / name).write_text(table(rows), encoding=encoding)
    (folder / "glove").mkdir(exist_ok=True)
    (folder / "glove" / "v.txt").write_text("the 1 2\ncat 3 4\nt0 5 6\nt1 7 8\n")
    return folder


def said(federation: Federation, examples: Examples) -> list[str]:
    assert isinstance(examples.x, Ragged)
    assert federation.vocabulary is not None
    parts = torch.tensor_split(examples.x.values, examples.x.offsets[1:-1])
    return [" ".join(federation.vocabulary.word(int(token)) for token in part) for part in parts]


def load(folder: Path, **options: Any) -> Federation:
    usual: dict[str, Any] = {"data_dir": folder, "seed": 0, "vocabulary": "training"}
    return sentiment140.load(**usual | options)


def test_tweets_stay_with_their_user_and_label(tmp_path: Path) -> None:
    federation = load(save(tmp_path, some_rows()))
    assert federation.test is not None
    assert (federation.num_users, federation.num_classes) == (8, 2)
    assert federation.sizes.tolist() == [4] * 8
    for user, name in enumerate(federation.names):
        for text, label in zip(
            said(federation, federation.user(user)), federation.user(user).y.tolist(), strict=True
        ):
            who, when = text.split()[:2]
            assert who == f"w{name[1:]}"
            assert label == (int(name[1:]) + int(when[1:])) % 2
    # Words of test users alone are not in a vocabulary of the training tweets.
    assert {text.split()[0] for text in said(federation, federation.test)} == {"<unknown>"}
    assert len(federation.test) == 8


def test_held_out_users_are_the_same_for_every_seed_and_never_trained_on(tmp_path: Path) -> None:
    save(tmp_path, some_rows())
    a, b = (load(tmp_path, users=3, seed=seed) for seed in (0, 3))
    assert a.test is not None
    assert b.test is not None
    assert torch.equal(a.test.y, b.test.y)
    assert a.names.tolist() != b.names.tolist()
    everybody = load(tmp_path)
    assert everybody.num_users == 8
    assert set(a.names) | set(b.names) <= set(everybody.names)
    with pytest.raises(InvalidValue, match="at most the 8 that the data names, got 9"):
        load(tmp_path, users=9)


def test_the_latest_tweets_of_each_user_can_be_the_test_tweets(tmp_path: Path) -> None:
    rows = [*some_rows(5, 4), ("0", DATE, "lone", "only the one")]
    federation = load(save(tmp_path, rows), test="tweets", test_share=0.5)
    assert federation.test is not None
    assert dict(zip(federation.names.tolist(), federation.sizes.tolist(), strict=True)) == {
        "lone": 1,
        **{f"u{i}": 2 for i in range(5)},
    }
    assert {text.split()[1] for text in said(federation, federation.examples)} == {"t0", "t1", "the"}
    assert len(federation.test) == 10
    vocabulary = federation.vocabulary
    assert vocabulary is not None
    assert {"t2", "t3"}.isdisjoint(vocabulary.words)  # test tweets make no words
    chosen = load(tmp_path, test="tweets", test_share=0.5, users=2, at_least=2)
    assert chosen.test is not None
    assert (len(chosen.examples), len(chosen.test)) == (4, 4)


def test_a_share_that_rounds_to_no_test_tweet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="of each user's tweets rounds to none for all users"):
        load(save(tmp_path, some_rows(5, 4)), test="tweets", test_share=0.2)
    rows = [*some_rows(1, 4), *(("0", DATE, f"lone{i}", "the cat") for i in range(20))]
    with pytest.raises(InvalidValue, match="rounds to none"):
        load(save(tmp_path, rows), test="tweets", test_share=0.5, users=1)


def test_users_with_few_tweets_take_no_part(tmp_path: Path) -> None:
    rows = some_rows(6, 3) + [("4", DATE, f"few{i}", "the cat") for i in range(5)]
    federation = load(save(tmp_path, rows), at_least=3)
    assert not [name for name in federation.names if name.startswith("few")]
    assert len(federation.examples) + len(federation.test) == 18  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="at_least must be at most 3, the tweets of a user, got 4"):
        load(tmp_path, at_least=4)


def test_neutral_tweets_are_dropped_and_other_polarities_refused(tmp_path: Path) -> None:
    rows = some_rows(4, 2)
    federation = load(save(tmp_path, [*rows, ("2", DATE, "neutral", "so so")]))
    assert "neutral" not in federation.names
    assert len(federation.examples) + len(federation.test) == 8  # type: ignore[arg-type]
    save(tmp_path, [*rows, ("1", DATE, "u0", "x")])
    with pytest.raises(InvalidValue, match=r"users\.csv .* polarity of 0, 2 or 4 .* line 9 has '1'"):
        load(tmp_path)
    save(tmp_path, [("2", DATE, "u0", "x")])
    with pytest.raises(InvalidValue, match="must hold positive or negative tweets, got neutral ones only"):
        load(tmp_path)


def test_tweets_without_a_known_word_are_kept_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [*some_rows(6, 2), *(("0", DATE, f"odd{i}", text) for i, text in enumerate(("?!", "xyzzy", "")))]
    with caplog.at_level(logging.INFO, logger="fedward"):
        federation = load(save(tmp_path, rows), vocabulary="glove")
    assert "3 of 15 tweets hold no word of the vocabulary" in caplog.text
    texts = said(federation, federation.examples) + said(federation, federation.test)  # type: ignore[arg-type]
    assert sorted(texts).count("<unknown>") == 3
    assert federation.vocabulary is not None
    assert federation.vocabulary.words == ("the", "cat", "t0", "t1")
    assert federation.vocabulary.vectors is not None


def test_long_tweets_can_be_shortened(tmp_path: Path) -> None:
    federation = load(save(tmp_path, some_rows()), longest=2, words=1000)
    assert {len(text.split()) for text in said(federation, federation.examples)} == {2}


def test_the_official_file_is_preferred_and_any_other_can_be_named(tmp_path: Path) -> None:
    save(tmp_path, some_rows(6, 2))
    save(tmp_path, some_rows(12, 2), sentiment140.FILES[0])
    save(tmp_path, some_rows(3, 2), "mine.csv")
    users = [load(tmp_path, file=file, test_share=0.4).num_users for file in (None, "users.csv", "mine.csv")]
    assert users == [7, 4, 2]


def test_latin_1_is_read_as_such_and_utf8_as_that(tmp_path: Path) -> None:
    rows = [("0", DATE, "u0", "café"), ("4", DATE, "u1", "naïve")]
    for encoding in ("latin-1", "utf8"):
        path = save(tmp_path, rows, encoding=encoding) / "sent140" / "users.csv"
        assert [tweet.text for tweet in tweets(path)] == ["café", "naïve"]


def test_times_are_in_order_over_months_and_years(tmp_path: Path) -> None:
    dates = [
        "Thu Dec 31 23:59:59 PST 2008",
        "Mon Apr 06 22:19:45 PDT 2009",
        "Mon Apr 06 22:19:46 PDT 2009",
        "Sat May 02 01:00:00 UTC 2009",
        "Wed Jun 17 08:00:00 PDT 2009",
    ]
    path = save(tmp_path, [("0", date, "u", "x") for date in dates]) / "sent140" / "users.csv"
    assert (np.diff(TweetIndex.of(path).times) > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", "at least one tweet, got an empty file"),
        (lambda text: text.replace('"NO_QUERY",', ""), "must hold 6 columns, but line 1 has 5"),
        (lambda text: text.replace(day(3), "06/04/2009"), "dates like .* but line 1 has '06/04/2009'"),
        (lambda text: text.replace("u4", ""), "must name the user of each tweet, but line 5 does not"),
        (lambda text: text[:-3], "must end with a line break; its last line is cut off"),
        (lambda text: text[:-3] + "\n", "but line 18 is not: unexpected end of data"),
        (lambda text: "<html>\n" + text, "must hold 6 columns, but line 1 has 1"),
        (lambda text: text.replace('"w2', '"w2" '), r"line 3 is not: .*expected after"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_line(
    tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    save(tmp_path, some_rows(6, 3))
    path = tmp_path / "sent140" / "users.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(InvalidValue, match=rf"users\.csv .*{message}"):
        load(tmp_path)


@given(st.data())
def test_a_file_cut_off_anywhere_is_refused_or_has_fewer_whole_tweets(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows = some_rows(2, 2)
    whole = table(rows).encode()
    path = tmp_path_factory.getbasetemp() / "cut-tweets.csv"
    length = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:length])
    ends = [i + 1 for i in range(len(whole)) if whole[i : i + 1] == b"\n"]
    if length in ends:
        assert [tweet.text for tweet in tweets(path)] == [row[3] for row in rows][: ends.index(length) + 1]
    else:
        with pytest.raises(InvalidValue, match=r"cut-tweets\.csv must"):
            list(tweets(path))


def test_a_missing_file_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(
        MissingFile, match=r"sent140 must hold training\.1600000.* or users\.csv, .*for-students"
    ):
        load(tmp_path)
    save(tmp_path, some_rows())
    (tmp_path / "glove" / "v.txt").unlink()
    with pytest.raises(MissingFile, match=r"glove must hold the word vectors glove\.6B\.50d\.txt"):
        load(tmp_path, vocabulary="glove")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_least": 0}, "at_least must be at least 1"),
        ({"test": "user"}, "test must be one of users, tweets, got 'user'; did you mean 'users'"),
        ({"test_share": 1.0}, "test share must be above 0 and below 1"),
        ({"longest": 0}, "longest must be at least 1"),
        ({"words": 0}, "words must be at least 1"),
        ({"vocabulary": "test"}, "vocabulary must be one of"),
        ({"users": 0}, "number of users must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_wrong_options_are_refused_before_any_file_is_read(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        load(tmp_path, **options)


def test_real_tweets_are_read_whole(real_data: Callable[[str], Path]) -> None:
    folder = real_data("sent140")
    real_data("glove")
    federation = sentiment140.load(data_dir=folder, seed=0)
    assert federation.test is not None
    labels = torch.cat([federation.examples.y, federation.test.y])
    assert torch.bincount(labels).tolist() == [6308, 9717]
    assert federation.num_users == 2300  # four fifths of 2,875
    assert int(federation.sizes.min()) == 3
    assert load(folder, at_least=10, words=100, test_share=0.5).num_users == 109  # half of 218
    assert federation.vocabulary is not None
    assert isinstance(federation.examples.x, Ragged)
    known = (federation.examples.x.values > 1).float().mean()
    assert 0.85 < float(known) < 0.95
    first = next(tweets(folder / "sent140" / "users.csv"))
    assert tokenize(first.text)[:3] == ["user", "im", "sorry"]
