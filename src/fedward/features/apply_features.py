"""A federation of public features: the public users leave it, and everybody else trains on vectors."""

from __future__ import annotations

import io

import numpy as np
import torch
from torch import Tensor

from fedward.base.own_cache import read_cache, write_cache
from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.digest import data_digest
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.features.preparation import Preparation
from fedward.features.public_feature import PublicFeature
from fedward.privacy.public_data import PublicData
from fedward.version import __version__


def apply_features(
    federation: Federation,
    feature: PublicFeature,
    preparation: Preparation | None = None,
    *,
    seed: int,
    name: str = "",
) -> Federation:
    """The same users with features of their examples in the place of these; N falls by the public ones.

    It is computed once: what an equal call of the same user computed before lies in the cache directory.

    Args:
      federation: pictures, numbers or texts.
      feature: what is computed of an example.
      preparation: what public users are for; with none only lengths are made 1.
      seed: draws the public users.
      name: of the feature, in guarantees; that of its class if not given.

    >>> import fedward
    >>> from fedward.features import HOG
    >>> digits = fedward.datasets.digits.load(users=30, seed=0)
    >>> vectors = apply_features(digits, HOG(cells=4), Preparation(public_users=6, whiten=0.1), seed=0)
    >>> vectors.num_users, tuple(vectors.examples.x.shape[1:])
    (24, (128,))
    >>> print(vectors.public)
    public features HOG, fitted without labels to 6 public users who are not covered
    """
    if not isinstance(feature, PublicFeature):
        raise InvalidType(f"a public feature must have source, source_labels and compute, got {feature!r}")
    if federation.public is not None:
        raise InvalidValue(f"public features are computed once, got a federation of {federation.public}")
    preparation = preparation or Preparation()
    declared = PublicData(
        features=name or type(feature).__name__,
        users=preparation.count,
        source=feature.source,
        source_labels=bool(feature.source) and feature.source_labels,
    )
    public = choose_public(federation, preparation, seed)
    vectors, test = _computed(federation, feature, preparation, public, seed)
    mine = np.repeat(~public, federation.sizes.numpy())
    kept = torch.from_numpy(mine)
    sizes = federation.sizes[torch.from_numpy(~public)]
    return Federation(
        Examples(vectors[kept], federation.examples.y[kept]),
        torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]),
        federation.names[~public],
        federation.num_classes,
        None if federation.test is None or test is None else Examples(test, federation.test.y),
        None,
        federation.class_names,
        declared,
    )


def choose_public(
    federation: Federation, preparation: Preparation, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which users (a bool each) are public."""
    if preparation.count >= federation.num_users:
        raise InvalidValue(
            f"public_users must be fewer than the users, {federation.num_users}, got {preparation.count}"
        )
    chosen = np.zeros(federation.num_users, dtype=np.bool_)
    if not isinstance(preparation.public_users, tuple):
        chosen[stream(seed, "public users").permutation(federation.num_users)[: preparation.count]] = True
        return chosen
    place = {str(name): user for user, name in enumerate(federation.names.tolist())}
    for name in map(str, preparation.public_users):
        if name not in place:
            raise InvalidValue(f"public_users must be names of users, got {name!r}")
        chosen[place[name]] = True
    return chosen


def _computed(
    federation: Federation,
    feature: PublicFeature,
    preparation: Preparation,
    public: np.ndarray[tuple[int], np.dtype[np.bool_]],
    seed: int,
) -> tuple[Tensor, Tensor | None]:
    """The features of all training and test examples, from the cache if they are there."""
    versions = f"{__version__} {torch.__version__} {np.__version__}"
    what = f"{feature!r} {feature.source} {preparation!r} {seed} {data_digest(federation)} {versions}"
    about = f"fedward features 1 {what}".encode()
    # The code of a feature of one's own may have changed since.
    ours = type(feature).__module__.startswith("fedward.")
    if ours and (content := read_cache(about)) is not None:
        arrays = np.load(io.BytesIO(content), allow_pickle=False)
        return torch.from_numpy(arrays["train"]), torch.from_numpy(
            arrays["test"]
        ) if "test" in arrays else None
    everything = [each for each in (federation.examples, federation.test) if each is not None]
    raw = [_checked(feature.compute(each.x, federation.vocabulary), len(each)) for each in everything]
    of_public = torch.from_numpy(np.repeat(public, federation.sizes.numpy()))
    fitted = preparation.fit(raw[0][of_public])
    found = [fitted.apply(each) for each in raw]
    if ours:
        named = dict(zip(("train", "test"), (each.numpy() for each in found), strict=False))
        stored = io.BytesIO()
        np.savez(stored, allow_pickle=False, **named)
        write_cache(about, stored.getvalue())
    return found[0], found[1] if len(found) > 1 else None


def _checked(vectors: Tensor, examples: int) -> Tensor:
    if (
        not isinstance(vectors, Tensor)
        or vectors.ndim != 2
        or len(vectors) != examples
        or not vectors.shape[1]
    ):
        got = tuple(vectors.shape) if isinstance(vectors, Tensor) else type(vectors).__name__
        raise InvalidValue(f"features must be one vector for each of {examples} examples, got {got}")
    if not bool(torch.isfinite(vectors).all()):
        raise InvalidValue("features must be finite, got NaN or infinity")
    return vectors.float()
