"""Certificates in which a third of the replicas is false, with every number and digest made to fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.certificates import certificate_file
from fedward.certificates.others.any_certificate import certify_by
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import read_scores

SHARE = 1 / 3
Scores = NDArray[np.float32]
Falsify = Callable[[Scores, NDArray[np.int64], NDArray[np.int64], "Material", np.random.Generator], Scores]


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a forger has besides: replicas that were really trained, but are not those of the certificate.

    Args:
      other_seed, less_noise, more_rounds, other_data: of another seed, of an experiment with less noise, with
        more rounds, on other data.
      other_draw: of the same experiment, drawn for another claim: honest, and chosen after a look.
    """

    other_seed: Scores
    less_noise: Scores
    more_rounds: Scores
    other_data: Scores
    other_draw: Scores


def forge(folder: Path, kind: str, material: Material, seed: int) -> float:
    """Makes a third of the replicas of a certificate false, and all files beside it agree with them.

    Returns how much larger the mean of the true class has become.
    """
    file = folder / "certificate.json"
    stored = certificate_file.loads(file.read_text(encoding="utf8"))
    place = folder / stored.file
    honest = read_scores(place.read_bytes())
    assert isinstance(honest, Replicas)
    assert honest.labels is not None
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(len(honest), round(SHARE * len(honest)), replace=False))
    scores = honest.scores.copy()
    false = _FORGERS[kind](honest.scores, chosen, honest.labels, material, draw)
    scores[chosen] = _summing_to_one(false)
    forged = replace(honest, scores=scores)
    certificate = certify_by(stored.certificate.setting, forged)
    place.write_bytes(forged.to_bytes())
    text = certificate_file.dumps(certificate, stored.file)
    file.write_text(text, encoding="utf8")
    _edit_summaries(folder, forged, json.loads(text))
    examples = np.arange(honest.examples)
    gain = forged.means()[examples, honest.labels] - honest.means()[examples, honest.labels]
    return float(gain.mean())


def _edit_summaries(folder: Path, forged: Replicas, certificate: dict[str, Any]) -> None:
    """The replicas that the directory itself keeps, and its summary: a careful forger leaves no trace."""
    for file in sorted(folder.glob("scores-*-*.npz")):
        start, stop = map(int, file.stem.split("-")[1:])
        with np.load(file) as found:
            arrays = {name: found[name] for name in found.files}
        key = next(name for name in arrays if name.endswith("/scores"))
        arrays[key] = forged.scores[start:stop].astype(arrays[key].dtype)
        variant = key.rpartition("/")[0]
        predicted = arrays[key].argmax(axis=2)
        arrays[f"{variant}/accuracy"] = (predicted == forged.labels).mean(axis=1)
        with file.open("wb") as opened:
            np.savez(opened, **arrays)
    summary = folder / "certified.json"
    if summary.exists():
        content = json.loads(summary.read_text(encoding="utf8"))
        for place, key in _guarantees(content):
            place[key] = certificate["releasing_all"]
        summary.write_text(json.dumps(content), encoding="utf8")


def _guarantees(content: Any) -> Any:
    if isinstance(content, dict):
        for key, value in content.items():
            if key == "releasing_all":
                yield content, key
            else:
                yield from _guarantees(value)
    elif isinstance(content, list):
        for each in content:
            yield from _guarantees(each)


def _summing_to_one(scores: Scores) -> Scores:
    wide = np.clip(scores.astype(np.float64), 0.0, 1.0)
    found: Scores = (wide / wide.sum(axis=2, keepdims=True)).astype(np.float32)
    return found


def _towards_truth(scores: Scores, labels: NDArray[np.int64], step: Any) -> Scores:
    truth = np.eye(scores.shape[2], dtype=np.float32)[labels]
    moved: Scores = (scores * (1 - step) + truth[None] * step).astype(np.float32)
    return moved


def _flipped_votes(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """Where a replica is wrong, its favourite and the true class change places."""
    changed: Scores = scores[chosen].copy()
    examples = np.arange(scores.shape[1])
    for row in changed:
        best = row.argmax(axis=1)
        row[examples, best], row[examples, labels] = row[examples, labels].copy(), row[examples, best].copy()
    return changed


def _copies(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """The best honest replicas again, blurred so that no copy is told."""
    right = (scores.argmax(axis=2) == labels).mean(axis=1)
    best = np.argsort(right)[-len(chosen) :]
    noise = draw.uniform(0, 2e-3, size=scores[best].shape).astype(np.float32)
    blurred: Scores = scores[best] + noise
    return blurred


def _certain(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """Replicas that are all but sure of the truth, each in its own way."""
    step = draw.uniform(0.9, 0.999, size=(len(chosen), scores.shape[1], 1))
    return _towards_truth(scores[chosen], labels, step)


def _a_little(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """Honest replicas, each moved by a hundredth towards the truth."""
    return _towards_truth(scores[chosen], labels, 0.01)


def _near_threshold(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """Only the examples that the mean just fails to get right are touched, and only as far as needed."""
    changed: Scores = scores[chosen].copy()
    mean = scores.mean(axis=0)
    examples = np.arange(scores.shape[1])
    missing = np.maximum(mean.max(axis=1) - mean[examples, labels], 0.02)
    close = np.argsort(missing)[: max(1, len(missing) // 4)]
    moved = _towards_truth(changed, labels, np.minimum(3 * missing, 0.9)[None, :, None])
    changed[:, close] = moved[:, close]
    return changed


def _chosen_order(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """Honest replicas in another order: what depends on the order of bets gets better."""
    right = (scores[chosen].argmax(axis=2) == labels).mean(axis=1)
    order = np.argsort(-right)
    moved: Scores = np.roll(scores[chosen][order], 1, axis=0)
    return moved


def _taken_from(name: str) -> Falsify:
    def take(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
        others: Scores = getattr(material, name)[chosen]
        return others

    return take


def _selected(scores: Scores, chosen: Any, labels: Any, material: Material, draw: Any) -> Scores:
    """The best of honest replicas that were drawn for another claim."""
    right = (material.other_draw.argmax(axis=2) == labels).mean(axis=1)
    best: Scores = material.other_draw[np.argsort(right)[-len(chosen) :]]
    return best


_FORGERS: dict[str, Falsify] = {
    "votes flipped": _flipped_votes,
    "copies of the best, blurred": _copies,
    "nearly sure of the truth": _certain,
    "a hundredth nearer to the truth": _a_little,
    "hand-made near the threshold": _near_threshold,
    "honest, in another order": _chosen_order,
    "of another seed": _taken_from("other_seed"),
    "of less noise": _taken_from("less_noise"),
    "of more rounds": _taken_from("more_rounds"),
    "of other data": _taken_from("other_data"),
    "the best of another draw": _selected,
}
KINDS = tuple(_FORGERS)
"""Ways to make replicas false."""
