"""A fingerprint of the data that a run was made on."""

from __future__ import annotations

import hashlib
import json

from torch import Tensor

from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary


def data_digest(federation: Federation) -> str:
    """Changes whenever an example, a label, an owner, its name, the test set or the vocabulary changes."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\n".join(map(str, federation.names.tolist())).encode())
    _add(digest, federation.offsets)
    for examples in (federation.examples, federation.test):
        if examples is not None:
            _add_examples(digest, examples)
    if federation.vocabulary is not None:
        _add_vocabulary(digest, federation.vocabulary)
    return digest.hexdigest()


def tensor_digest(tensor: Tensor) -> str:
    """Changes whenever a number changes."""
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, tensor)
    return digest.hexdigest()


def _add_examples(digest: hashlib.blake2b, examples: Examples) -> None:
    if isinstance(examples.x, Ragged):
        _add(digest, examples.x.values)
        _add(digest, examples.x.offsets)
    else:
        _add(digest, examples.x)
    _add(digest, examples.y)


def _add_vocabulary(digest: hashlib.blake2b, vocabulary: Vocabulary) -> None:
    # JSON, not one word a line: the words of some files hold spaces and line breaks of other alphabets.
    digest.update(json.dumps(vocabulary.words).encode())
    if vocabulary.vectors is not None:
        _add(digest, vocabulary.vectors)


def _add(digest: hashlib.blake2b, tensor: Tensor) -> None:
    digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    digest.update(tensor.contiguous().numpy().data)
