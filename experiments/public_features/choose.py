"""How the features and the noise of the flagship were chosen: on its 60 public writers alone.

    python experiments/public_features/choose.py --data DIR [--small]

Features are fitted to 45 of the public writers, without labels; the class means of these 45 stand for those
of the 479 who will train; digits of the other 15 are what they are tried on. Nobody else's are looked at.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import fedward
from fedward.config import experiment
from fedward.core.federation import Federation
from fedward.features import HOG, Given, Preparation, PublicFeature, Scattering
from fedward.local.class_means import ClassMeansOfBound

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from published import place_of
from support import parser

HERE = Path(__file__).parent
FITTED, USERS, DRAWS = 45, 479, 500
Record = dict[str, Any]

FEATURES: dict[str, PublicFeature] = {"given": Given(), "hog": HOG(), "scattering": Scattering()}
PREPARATIONS: list[dict[str, Any]] = [
    {},
    {"whiten": 0.03},
    {"whiten": 0.03, "rank": 64},
    {"whiten": 0.1, "rank": 32},
    *(
        {"whiten": 0.03, "rank": 64, "neighbours": neighbours, "dimensions": dimensions}
        for neighbours in (5, 10, 15)
        for dimensions in (9, 10, 12, 16)
    ),
]
NOISE = (10.0, 20.0, 30.0, 40.0, 60.0)


def public_digits(data: str | None) -> Federation:
    """The public writers of the experiment's file and their digits, without anybody else's."""
    content = experiment.read_content(HERE / "writers.toml")
    names = {str(name) for name in content["data"].pop("public_features")["public_users"]}
    everybody = experiment.from_content(content).load_data(None if data is None else Path(data))
    mine = np.array([str(name) in names for name in everybody.names])
    owners = np.repeat(everybody.names, everybody.sizes.numpy())
    kept = torch.from_numpy(np.repeat(mine, everybody.sizes.numpy()))
    return Federation.from_arrays(
        everybody.examples.x[kept], everybody.examples.y[kept], owners[kept.numpy()]
    )


def mean_head(vectors: Tensor, labels: Tensor, owners: NDArray[np.int64]) -> Tensor:
    """The mean of the users' class means, each at length 1."""
    heads = []
    for user in np.unique(owners):
        head = fedward.core.parameters.FlatModule(torch.nn.Linear(vectors.shape[1], 10, bias=False))
        head.parameters.zero_()
        own = torch.from_numpy(owners == user)
        examples = fedward.core.examples.Examples(vectors[own], labels[own])
        ClassMeansOfBound(bound=1.0).train(head, examples, np.random.default_rng(0))
        heads.append(head.parameters.reshape(10, -1).clone())
    return torch.stack(heads).mean(dim=0)


def reach(vectors: Tensor, labels: Tensor, head: Tensor) -> NDArray[np.float64]:
    """For each digit the k beyond which even endless votes certify nothing: margin N x (m_A - m_B) / √2."""
    scores = (USERS * vectors @ head.T).double().numpy()
    own = scores[np.arange(len(labels)), labels]
    scores[np.arange(len(labels)), labels] = -np.inf
    found: NDArray[np.float64] = (own - scores.max(axis=1)) / np.sqrt(2)
    return found


def right_votes(vectors: Tensor, labels: Tensor, head: Tensor, noise: float) -> float:
    """The accuracy of one noisy model."""
    rng = np.random.default_rng(0)
    scores = (USERS * vectors @ head.T).numpy()
    drawn = (noise * rng.standard_normal((DRAWS, *head.shape))).astype(np.float32)
    right = [((scores + vectors.numpy() @ each.T).argmax(axis=1) == labels.numpy()).mean() for each in drawn]
    return float(np.mean(right))


def main() -> None:
    made = parser(__doc__ or "")
    made.add_argument("--small", action="store_true", help="hog alone")
    chosen = made.parse_args()
    place = place_of(chosen, HERE)
    torch.set_num_threads(1)  # two collapse where another program wants a core
    federation = public_digits(chosen.data)
    owners = np.repeat(np.arange(federation.num_users), federation.sizes.numpy())
    first = owners < FITTED
    fit, held = torch.from_numpy(first), torch.from_numpy(~first)
    y, records = federation.examples.y, []
    for name, feature in {"hog": FEATURES["hog"]}.items() if chosen.small else FEATURES.items():
        raw = feature.compute(federation.examples.x, None)
        for options in PREPARATIONS:
            vectors = Preparation(public_users=FITTED, **options).fit(raw[fit]).apply(raw)
            head = mean_head(vectors[fit], y[fit], owners[first])
            k = reach(vectors[held], y[held], head)
            record: Record = {"features": name, **options, "median": round(float(np.median(k)), 1)}
            record |= {f"above {least}": round(float((k > least).mean()), 3) for least in (0, 10, 25, 40, 60)}
            if (name, options.get("neighbours"), options.get("dimensions")) == ("hog", 10, 10):
                record["one model"] = {
                    f"{noise:g}": round(right_votes(vectors[held], y[held], head, noise), 3)
                    for noise in NOISE
                }
            records.append(record)
            print(record, flush=True)
    place.file("choice.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    place.publish("choice.jsonl")


if __name__ == "__main__":
    main()
