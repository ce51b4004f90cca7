"""The 1,797 handwritten digits that come with scikit-learn: no file, no network."""

from __future__ import annotations

import numpy as np

from fedward.base.randomness import stream
from fedward.core.federation import Federation
from fedward.datasets.federate import federate
from fedward.datasets.partition import Split

USERS = 50


def load(
    *,
    seed: int,
    users: int | None = None,
    split: str = "iid",
    alpha: float | None = None,
    classes_per_user: int | None = None,
) -> Federation:
    """Digits of 8 x 8 pixels: x / 16 in ``[n, 1, 8, 8]``, labels 0 to 9.

    Every fifth example of each class is a test example, whatever the seed: 1,438 for training, 359 for
    testing.

    Args:
      seed: decides who gets which example.
      users: how many users; 50 if not given.
      split: ``iid``, ``dirichlet``, ``label_skew`` or ``quantity_skew``; no writers are named.

    >>> federation = load(users=20, seed=0)
    >>> federation.num_users, len(federation.examples), len(federation.test)
    (20, 1438, 359)

    Alpaydin and Kaynak, Optical recognition of handwritten digits, UCI machine learning repository, 1998.
    """
    how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
    rng = stream(seed, "partition")

    # Here and not above: it takes seconds to import, and most runs use other data.
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    x = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    test = np.zeros(len(labels), dtype=bool)
    for label in range(10):
        # From the third: rounds each class's fifth to the nearest whole number.
        test[np.flatnonzero(labels == label)[2::5]] = True
    return federate((x[~test], labels[~test]), (x[test], labels[test]), how, rng, num_classes=10)
