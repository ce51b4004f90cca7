"""What the public data are worth without anybody's private data: the baseline of the flagship.

    python experiments/public_features/baseline.py --data DIR

A certificate of a model that does no better than one from public data alone certifies what nobody needed to
train. Labels of the public writers are used here, which the flagship does not use: who has them takes this.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from fedward.config import experiment
from fedward.config.feature_table import FEATURES
from fedward.features import HOG, Preparation

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from choose import public_digits

from published import place_of
from support import parser

HERE = Path(__file__).parent


def accuracy(x: NDArray[Any], y: NDArray[Any], test: NDArray[Any], labels: NDArray[Any]) -> float:
    """That of logistic regression."""
    model = LogisticRegression(max_iter=300, C=10.0).fit(x, y)
    return round(float((model.predict(test) == labels).mean()), 4)


def main() -> None:
    chosen = parser(__doc__ or "").parse_args()
    place = place_of(chosen, HERE)
    torch.set_num_threads(1)  # two collapse where another program wants a core
    public = public_digits(chosen.data)
    content = experiment.read_content(HERE / "writers.toml")
    table = content["data"].pop("public_features")
    everybody = experiment.from_content(content).load_data(None if chosen.data is None else Path(chosen.data))
    assert everybody.test is not None
    y, labels = public.examples.y.numpy(), everybody.test.y.numpy()
    raw, raw_test = (HOG().compute(each.x, None) for each in (public.examples, everybody.test))
    options = {key: table[key] for key in FEATURES.more if key in table and key != "public_users"}
    full = Preparation(public_users=1, **options)
    flat = replace(full, neighbours=None, dimensions=None)
    found: dict[str, Any] = {"public digits": len(y), "test digits": len(labels)}
    for name, preparation in (("whitened", flat), ("the flagship's", full)):
        fitted = preparation.fit(raw)
        x, test = fitted.apply(raw).numpy(), fitted.apply(raw_test).numpy()
        found[f"labels of all public digits, {name} features"] = accuracy(x, y, test, labels)
    groups = KMeans(10, n_init=10, random_state=0).fit(x)
    nearest = groups.transform(x).argmin(axis=0)
    names = y[nearest]
    found["ten labels, one for each group"] = round(float((names[groups.predict(test)] == labels).mean()), 4)
    other = load_digits()
    small = torch.nn.functional.interpolate(
        torch.tensor(other.images / 16.0, dtype=torch.float32).unsqueeze(1), size=20, mode="bilinear"
    )
    pictures = torch.nn.functional.pad(small, (4, 4, 4, 4))
    found["labels of scikit-learn's digits, hog"] = accuracy(
        HOG().compute(pictures, None).numpy(), other.target, raw_test.numpy(), labels
    )
    found["no labels at all"] = round(float(np.bincount(labels).max() / len(labels)), 4)
    print(json.dumps(found, indent=1))
    place.file("baseline.json").write_text(json.dumps(found, indent=1) + "\n")
    place.publish("baseline.json")


if __name__ == "__main__":
    main()
