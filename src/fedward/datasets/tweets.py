"""The CSV files of Sentiment140: polarity, id, date, query, user, text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.datasets.files import csv_rows, is_utf8

WHAT = "a CSV file of Sentiment140"
POLARITIES = {"0": 0, "2": None, "4": 1}
"""Negative, neutral and positive, and the label of each; a neutral tweet has none."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(rf"\w{{3}} ({'|'.join(_MONTHS)}) (\d\d) (\d\d):(\d\d):(\d\d) \w+ (\d{{4}})")


class Tweet(NamedTuple):
    label: int
    time: int
    user: str
    text: str


def tweets(path: Path) -> Iterator[Tweet]:
    """All tweets of a file but the neutral ones, in the order of the file.

    The official files are in Latin-1; a file that is UTF-8 from beginning to end is read as that. The time
    is good for comparing only: it ignores time zones.
    """
    encoding = "utf8" if is_utf8(path, WHAT) else "latin-1"
    found = False
    for line, row in csv_rows(path, WHAT, encoding):
        found = True
        if len(row) != 6:
            raise InvalidValue(f"{path} must hold 6 columns, but line {line} has {len(row)}")
        polarity, _, date, _, user, text = row
        if polarity not in POLARITIES:
            raise InvalidValue(
                f"{path} must hold a polarity of 0, 2 or 4 in its first column, "
                f"but line {line} has {polarity!r}"
            )
        if not user:
            raise InvalidValue(f"{path} must name the user of each tweet, but line {line} does not")
        label = POLARITIES[polarity]
        if label is not None:
            yield Tweet(label, _time(path, line, date), user, text)
    if not found:
        raise InvalidValue(f"{path} must hold at least one tweet, got an empty file")


@dataclass(frozen=True, kw_only=True, eq=False)
class TweetIndex:
    """Everything of the tweets of a file but their texts: there may be millions."""

    labels: NDArray[np.int64]
    times: NDArray[np.int64]
    users: NDArray[np.int64]
    names: NDArray[Any]

    @classmethod
    def of(cls, path: Path) -> TweetIndex:
        labels, times, users = array("b"), array("q"), array("i")
        number: dict[str, int] = {}
        for tweet in tweets(path):
            labels.append(tweet.label)
            times.append(tweet.time)
            users.append(number.setdefault(tweet.user, len(number)))
        if not labels:
            raise InvalidValue(f"{path} must hold positive or negative tweets, got neutral ones only")
        names = np.array(list(number))
        order = np.argsort(names)
        rank = np.empty(len(names), dtype=np.int64)
        rank[order] = np.arange(len(names))
        return cls(
            labels=np.array(labels, dtype=np.int64),
            times=np.array(times, dtype=np.int64),
            users=rank[np.array(users, dtype=np.int64)],
            names=names[order],
        )


def texts_of(path: Path, wanted: NDArray[np.bool_]) -> Iterator[str]:
    """The texts of some tweets, counted as ``TweetIndex`` counts them."""
    return (tweet.text for tweet, keep in zip(tweets(path), wanted.tolist(), strict=True) if keep)


def _time(path: Path, line: int, date: str) -> int:
    match = _DATE.fullmatch(date)
    if match is None:
        raise InvalidValue(
            f"{path} must hold dates like 'Mon Apr 06 22:19:45 PDT 2009' in its third column, "
            f"but line {line} has {date!r}"
        )
    month, day, hour, minute, second, year = match.groups()
    parts = (year, f"{_MONTHS.index(month) + 1:02}", day, hour, minute, second)
    return int("".join(parts))
