"""The three accuracies of a certified run: of one model, of the vote of all, and what is certified of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.certificates.others.other_setting import OtherSetting
from fedward.privacy.group import Threat
from fedward.privacy.guarantee import Unit
from fedward.reports.page.words.certificate_words import headline
from fedward.rundir.run_record import ReplicasRecord


@dataclass(frozen=True, kw_only=True)
class ThreeAccuracies:
    """Three shares of the test examples.

    Args:
      one: that one model is right about, in the mean over all of them; None where nobody measured it.
      vote: whose class is the one that all models favour together.
      certified: that this is right for and stays so, provably, against k attackers by the threat.
      k, threat, unit: how many attackers, what they do, and whether they are users or examples.
      anything: whether attackers may send anything, and do not only poison data.
      replicas: how many models there are.
      by_vote: whether votes are counted, and not mean confidences.
      groups: whether every model was trained on a group of users of its own.
      error: the probability with which the certificate may be wrong; 0 where votes are counted.
      together: whether that is about all examples together, and not about each by itself.
      examples: how many test examples there are.
    """

    one: float | None
    vote: float
    certified: float
    k: int
    threat: Threat
    unit: Unit
    anything: bool
    replicas: int
    by_vote: bool
    groups: bool
    error: float
    together: bool
    examples: int


def three_accuracies(run: ReplicasRecord, variant: str) -> ThreeAccuracies:
    """Those of one certificate of a run, at the k and the threat that are spoken of first."""
    certificate = run.certificates[variant]
    attack, setting = certificate.attacks[0], certificate.setting
    k = headline(attack)
    accuracy = attack.accuracy or ()
    measured = {} if run.result is None else run.result.variants.get(variant, {})
    return ThreeAccuracies(
        one=measured["accuracy"].mean if "accuracy" in measured else None,
        vote=float(np.mean(certificate.bounds.top == labels_of(run, certificate))),
        certified=accuracy[k] if k < len(accuracy) else 0.0,
        k=k,
        threat=attack.threat,
        unit=setting.ledger.unit,
        anything=setting.behaviour == "anything",
        replicas=setting.confidence.replicas,
        by_vote=certificate.score == "vote",
        groups=by_groups(certificate),
        error=setting.confidence.error,
        together=setting.confidence.simultaneous,
        examples=certificate.examples,
    )


def by_groups(certificate: Certificate) -> bool:
    """Whether the certificate counts votes of models of groups of users, which hide nobody."""
    return isinstance(certificate.setting, OtherSetting) and bool(certificate.setting.ledger.reason)


def labels_of(run: ReplicasRecord, certificate: Certificate) -> NDArray[np.int64]:
    """The true classes of the test examples that a certificate is about."""
    labels = run.labels
    if labels is None or len(labels) != certificate.examples:
        raise InvalidValue(
            f"{run.path / 'labels.npz'} must hold the classes of {certificate.examples} test examples, "
            f"got {'none' if labels is None else len(labels)}"
        )
    return labels
