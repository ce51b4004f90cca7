"""A list of what the check of a certificate has recomputed, and of what has to be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import get_args

from fedward.base.validate import one_of
from fedward.certificates.certificate import Certificate
from fedward.certificates.confidence import ANY_TIME
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.others.other_words import other_trust
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import Scores
from fedward.certificates.trusted_names import Recomputed, Trusted
from fedward.privacy.spending import Mechanisms

WHAT: tuple[str, ...] = (*get_args(Recomputed), *get_args(Trusted))


@dataclass(frozen=True)
class Statement:
    """One thing that was recomputed, or that rests on trust: its name, and the sentence made from it."""

    what: Recomputed | Trusted
    says: str

    def __post_init__(self) -> None:
        one_of("what", self.what, WHAT)

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def list_recomputed(certificate: Certificate, replicas: Scores) -> tuple[Statement, ...]:
    """What a check that came to its end has computed again from the file and the stored scores."""
    return tuple(_iterate_recomputed(certificate, replicas))


def _iterate_recomputed(certificate: Certificate, replicas: Scores) -> Iterator[Statement]:
    yield Statement("scores", "the stored scores are those that it was made with, by their digest")
    if isinstance(replicas, Replicas):
        yield Statement(
            "numbers", f"they are of replicas 0 to {len(replicas) - 1:,}, none of which is missing"
        )
    if replicas.copies_told:
        yield Statement("copies", "none of the replicas has the scores of another")
    if certificate.draw:
        yield Statement("draw", "the draw that it names is that of what it claims")
    yield Statement(
        "bounds", f"the top class and its bounds on {certificate.examples:,} examples, from the scores"
    )
    by = certificate.setting.by if isinstance(certificate.setting, OtherSetting) else None
    source = "the bounds and the stated ledger" if by is None else f"what is stored, by its proof ({by})"
    yield Statement("k", f"k for every example and threat, from {source}")
    if replicas.labels is not None:
        yield Statement("accuracy", "certified accuracy, from k and the stored labels")
    yield Statement("epsilon", "ε of releasing all trainings, from the stated ledger")
    yield Statement("words", "its sentences, from its numbers")


def list_trusted(certificate: Certificate, *, copies_told: bool = True) -> tuple[Statement, ...]:
    """What nobody can see from a certificate and its scores: it rests on whoever trained and wrote them.

    Args:
      certificate: as its file has it.
      copies_told: whether a copy of a replica would have been noticed.
    """
    return tuple(_iterate_trusted(certificate, copies_told))


def _iterate_trusted(certificate: Certificate, copies_told: bool) -> Iterator[Statement]:
    setting = certificate.setting
    if isinstance(setting, OtherSetting):
        yield from (Statement(what, says) for what, says in other_trust(setting))
        return
    many, rounds = f"{setting.confidence.replicas:,}", setting.ledger.rounds
    yield Statement(
        "trainings",
        f"that the scores come from {many} trainings of one experiment: nothing was trained again",
    )
    yield Statement(
        "ledger",
        "that each of these trainings had the noise, the clipping and the sampling of the stated ledger "
        f"({describe_noise(setting.spending)}, {setting.ledger.sampling}, "
        f"{rounds:,} round{'' if rounds == 1 else 's'}, {setting.users:,} users)",
    )
    yield Statement(
        "divisor", "that sums were divided by a number that does not move when somebody joins or leaves"
    )
    unseen = "" if copies_told else "; a copy of one could not be told from chance here"
    yield Statement(
        "independence", f"that the replicas are independent, each with sampling and noise of its own{unseen}"
    )
    yield Statement("fixed_beforehand", _words_on_claims(certificate))
    yield Statement(
        "choice", "that it was not chosen among several, with other seeds, other claims or other settings"
    )
    yield Statement(
        "initial_model",
        f"that the trainings started from the model with the digest {setting.initial_model}: it was compared "
        "with nothing",
    )
    yield Statement(
        "data",
        f"that they were on the data with the digest {setting.data}, and that scores and labels are of its "
        "test examples: it was compared with nothing",
    )
    if (public := setting.ledger.terms.public) is not None:
        yield Statement(
            "public_data",
            f"that nothing but what is declared is in what is public ({public}), and that no attacker had a "
            "hand in it",
        )


def describe_noise(spending: Mechanisms) -> str:
    """The noise that k follows from: with much more of it than there was, everything looks certified."""
    found = sorted({float(getattr(event, "event", event).noise_multiplier) for event, _ in spending})
    between = f"s {found[0]:g} to {found[-1]:g}" if len(found) > 1 else f" {found[0]:g}"
    return f"noise multiplier{between}"


def _words_on_claims(certificate: Certificate) -> str:
    if certificate.draw:
        return (
            "that the replicas were drawn from the streams of the draw that it names: this is what fixes all "
            "that is claimed before they are trained"
        )
    free = certificate.setting.confidence.method in ANY_TIME
    what = "all that is claimed was" if free else "the number of replicas and all else that is claimed were"
    return f"that {what} fixed before anybody saw a replica: the replicas would be the same for other claims"
