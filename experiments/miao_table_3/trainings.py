"""One attacked training on LFW: who owns which faces, what defends them, what the attacker finds."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch.nn.functional import avg_pool2d

import fedward
from fedward.attacks.inference import PropertyInference, deal, judge_rounds, property_rounds
from fedward.core.examples import Examples

CLIP = 0.03
"""c⁰ of table 3."""
DP_NOISE, CND_NOISE = 2.56, 3.1
"""ε = 8.0 and 6.35 by the paper's accounting, with its q = 0.2 of section 3 and 300 rounds."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The size of a training; the defaults are what is reported.

    Args:
      steps: of a user in a round; the paper has 10 epochs.
      simulated: rounds of each kind that the attacker plays through in each round.
    """

    rounds: int = 60
    steps: int = 4
    batch_size: int = 32
    learning_rate: float = 0.1
    simulated: int = 2


@dataclass(frozen=True, kw_only=True)
class Task:
    """One training; ``data`` is where LFW lies."""

    defence: str
    users: int
    seed: int
    setting: Setting
    data: str | None


def attacked(task: Task) -> dict[str, Any]:
    """Trains and attacks; AUC over its rounds, accuracy of the last model."""
    began = time.process_time()
    setting, seed = task.setting, task.seed
    federation, black = deal(*_faces(task.data), users=task.users, seed=seed)
    model = fedward.models.build("lfw_cnn", input_shape=(3, 24, 24), num_classes=2, seed=seed)
    backend = fedward.InProcess(model, federation)
    algorithm = defended(task)
    attack = PropertyInference(simulated=setting.simulated)
    seen = []
    for state, observation in property_rounds(
        attack, algorithm, model, federation, black, backend, rounds=setting.rounds, seed=seed
    ):
        seen.append(observation)
    found = judge_rounds(algorithm, task.users, seen, seed=seed)
    assert federation.test is not None
    (sure,) = backend.confidences([state.parameters], federation.test)
    right = sure.argmax(axis=1) == federation.test.y.numpy()
    women = federation.test.y.numpy() == 0
    return {
        "name": f"{task.defence}, {task.users} users",
        "defence": task.defence,
        "users": task.users,
        "seed": seed,
        "auc": found.roc.auc.value,
        "positives": found.roc.positives,
        "negatives": found.roc.negatives,
        "limit": found.limit.auc if found.limit.promised else None,
        "crossed": list(found.crossed),
        "accuracy": float(right.mean()),
        "balanced_accuracy": float((right[women].mean() + right[~women].mean()) / 2),
        "cpu_seconds": round(time.process_time() - began, 1),
    }


@functools.cache
def _faces(data: str | None) -> tuple[fedward.Federation, Tensor]:
    """All faces and who is black; at half the width and height a training is eight times as fast."""
    where: dict[str, Any] = {"users": 1, "split": "iid", "seed": 0, "data_dir": data}
    whole = fedward.datasets.lfw.load(**where)
    black, _ = fedward.datasets.lfw.properties("black", **where)
    assert whole.test is not None
    return replace(whole, examples=_small(whole.examples), test=_small(whole.test)), black


def _small(faces: Examples) -> Examples:
    """Two by two pixels are averaged; about centred, by constants: uncentred, a training needs far longer."""
    assert isinstance(faces.x, Tensor)
    return replace(faces, x=(avg_pool2d(faces.x, 2) - 0.5) / 0.25)


def defended(task: Task) -> fedward.Algorithm:
    """No defence, DP, or DP with clip norm decay; all users take part in every round, as in the paper."""
    setting, everyone = task.setting, fedward.EveryoneSampler()
    local = fedward.SGD(
        learning_rate=setting.learning_rate, batch_size=setting.batch_size, steps=setting.steps
    )
    if task.defence == "none":
        return fedward.presets.fedavg(sampler=everyone, local=local)
    if task.defence == "DP":
        return fedward.presets.central_dp(
            num_users=task.users,
            sampler=everyone,
            local=local,
            clip_bound=CLIP,
            noise_multiplier=DP_NOISE,
        )
    return fedward.presets.clip_norm_decay(
        num_users=task.users,
        sampler=everyone,
        local=local,
        initial_bound=CLIP,
        decay=0.99,
        noise_multiplier=CND_NOISE,
    )
