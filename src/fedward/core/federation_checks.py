"""Checks that the parts of a federation go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedward.base.validate import InvalidType, InvalidValue, shorten
from fedward.core.examples import Examples, Ragged
from fedward.core.own_arrays import read_owners
from fedward.core.vocabulary import Vocabulary


def number_users(
    owner: np.ndarray[Any, Any], names: Any
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """All users by name, and the place of each example's owner among them."""
    if names is None:
        found, number = np.unique(owner, return_inverse=True)
        return found, number
    names = np.array(read_owners("names", names))
    if names.ndim != 1 or not len(names):
        raise InvalidValue(f"names must be a list of at least one user, got shape {names.shape}")
    if len(np.unique(names)) != len(names):
        raise InvalidValue("names must not repeat a user")
    position = np.argsort(names, kind="stable")
    place = np.clip(np.searchsorted(names[position], owner), 0, len(names) - 1)
    number = position[place]
    unknown = names[number] != owner
    if unknown.any():
        raise InvalidValue(f"user {owner[unknown][0]} owns examples but is not among the names")
    return names, number


def read_test(test: Any, copy: bool) -> Examples:
    """The test examples: as they are, or from inputs and labels."""
    if isinstance(test, Examples):
        return test
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InvalidType(f"test must be inputs and labels, (x, y), got {shorten(test, 60)}")
    return Examples.from_arrays(*test, copy=copy)


def check_class_names(class_names: Any) -> None:
    """What classes are called is a tuple of texts, and not one text, which has letters for classes."""
    if not isinstance(class_names, tuple | list) or not all(isinstance(each, str) for each in class_names):
        raise InvalidType(f"names of classes must be a tuple of strings, got {shorten(class_names, 60)}")


def check_same_kind(examples: Examples, test: Examples) -> None:
    """Training and test examples must go through the same model."""
    if isinstance(examples.x, Ragged) != isinstance(test.x, Ragged):
        raise InvalidValue("training and test examples must both be flat or both be ragged")
    a = examples.x.values if isinstance(examples.x, Ragged) else examples.x
    b = test.x.values if isinstance(test.x, Ragged) else test.x
    if a.shape[1:] != b.shape[1:] or a.dtype != b.dtype:
        raise InvalidValue(
            "training and test examples must have the same shape and type, "
            f"got {tuple(a.shape[1:])} {a.dtype} and {tuple(b.shape[1:])} {b.dtype}"
        )


def check_tokens(part: str, examples: Examples, vocabulary: Vocabulary) -> None:
    """Tokens must be those of the vocabulary."""
    ragged = isinstance(examples.x, Ragged)
    tokens = examples.x.values if isinstance(examples.x, Ragged) else examples.x
    if tokens.is_floating_point():
        raise InvalidType(f"{part} examples must be tokens where there is a vocabulary, got {tokens.dtype}")
    if not tokens.numel():
        return
    # Sequences are padded with 0 when they are batched: a 0 of their own would pass for the end.
    least, largest = (1 if ragged else 0), vocabulary.size - 1
    low, high = int(tokens.min()), int(tokens.max())
    if low < least or high > largest:
        raise InvalidValue(
            f"{part} tokens must be from {least} to {largest} for a vocabulary of {len(vocabulary.words)} "
            f"words, got {low if low < least else high}"
        )
