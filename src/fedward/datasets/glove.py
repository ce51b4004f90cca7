"""GloVe's word vectors from their text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, whole
from fedward.core.vocabulary import Vocabulary, tokenize
from fedward.datasets.directory import MissingFile
from fedward.datasets.files import text_lines

USUAL = "glove.6B.50d.txt"
SOURCE = "https://nlp.stanford.edu/projects/glove/"


def find(folder: Path, name: str | None = None) -> Path:
    """The file of vectors in a folder.

    The one called ``name``; without a name ``glove.6B.50d.txt``, or else the only ``.txt`` file there. No
    download is offered: no official checksum is published.
    """
    files = sorted(path.name for path in folder.glob("*.txt")) if folder.is_dir() else []
    if name is None:
        name = USUAL if USUAL in files or not files else files[0]
        if name != USUAL and len(files) > 1:
            raise InvalidValue(f"{folder} holds {', '.join(files)}: say which one to use as vectors")
    if name not in files:
        found = f"it holds {', '.join(files)}" if files else "there is no such file"
        raise MissingFile(
            f"{folder} must hold the word vectors {name}, but {found}; put it there, "
            f"from glove.6B.zip of {SOURCE}"
        )
    return folder / name


def read(path: Path, words: int | None = None) -> Vocabulary:
    """The first words of the file, which are the most frequent ones, with their vectors.

    A line is a word and its d numbers, with a space before each. Entries that are not words by
    ``tokenize`` (punctuation, "u.s.", hyphens) can never be met in a text: they are left out, and not
    counted. If the file has fewer words than asked for, all of them are taken.

    Args:
      path: the file.
      words: how many words at most; all if not given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.txt"
    ...     _ = path.write_text("the 0.5 1\\n, 2 3\\ncat -1 0.25\\n")
    ...     vocabulary = read(path)
    >>> vocabulary.words, vocabulary.vectors.tolist()
    (('the', 'cat'), [[0.5, 1.0], [-1.0, 0.25]])

    Pennington, Socher and Manning, GloVe: global vectors for word representation, 2014.
    """
    if words is not None:
        whole("words", words)
    vectors: dict[str, NDArray[np.float32]] = {}
    dimensions = 0
    for number, line in text_lines(path, "a file of word vectors"):
        dimensions = dimensions or line.count(" ")
        # From the right: some files have words with spaces in them.
        word, *values = line.rsplit(" ", dimensions)
        if word in vectors:
            raise InvalidValue(f"{path} must hold every word once, but line {number} has {word!r} again")
        vector = _vector(path, number, values, dimensions)
        if tokenize(word) == [word]:
            vectors[word] = vector
            if len(vectors) == words:
                break
    if not vectors:
        raise InvalidValue(f"{path} must hold at least one word and its vector, got none")
    return Vocabulary(tuple(vectors), torch.from_numpy(np.stack(list(vectors.values()))))


def _vector(path: Path, number: int, values: list[str], dimensions: int) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # too large is not finite, and that is refused below
            vector = np.array(values, dtype=np.float32)
    except ValueError:
        vector = np.empty(0, dtype=np.float32)
    if not dimensions or len(vector) != dimensions or not np.isfinite(vector).all():
        raise InvalidValue(
            f"{path} must hold a word and {dimensions or 'its'} finite numbers on each line, "
            f"but line {number} does not"
        )
    return vector
