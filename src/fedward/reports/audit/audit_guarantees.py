"""The guarantees of a run for an auditor: what each is about, what it assumes, and what it does not cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fedward.config.made_objects import objects_of
from fedward.privacy import Guarantee
from fedward.privacy.guarantee import ACCOUNTANT_LABELS
from fedward.privacy.rounding import delta_text, epsilon_text
from fedward.reports.numbers import many
from fedward.reports.page.words.certificate_words import headline, in_words, rests_on_trust
from fedward.reports.page.words.guarantee_words import promise
from fedward.reports.templates import lines
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord

_NEIGHBOURS = {
    "add/remove": "add/remove: one of them joins or leaves",
    "replace-one": "replace-one: one of them is replaced by any other",
    "zero-out": "zero-out: what one of them contributes is replaced by nothing; that it is counted is public",
    "local": "local: all data of one of them is replaced; that it takes part is public",
}


@dataclass(frozen=True, kw_only=True)
class AuditedGuarantee:
    """One guarantee, or that there is none.

    Args:
      about: which release it is about.
      guarantee: the guarantee itself.
      heading, sentences: the same in words.
      facts: unit, adjacency, sampling and all else that it is about, each with its name.
    """

    about: str
    guarantee: Guarantee
    heading: str
    sentences: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def research(self) -> bool:
        """Whether its noise can be computed again from a seed."""
        return self.guarantee.noise_source == "seeded"


@dataclass(frozen=True, kw_only=True)
class AuditedCertificate:
    """What a certificate says, and what in it rests on trust."""

    variant: str
    sentences: tuple[str, ...]
    trusted: tuple[str, ...]


def guarantees_of_record(record: Record) -> list[AuditedGuarantee]:
    """One for each release that a run could end in; none before anything is spent."""
    return [_audited(about, guarantee, record) for about, guarantee in _releases(record)]


def _releases(record: Record) -> Iterator[tuple[str, Guarantee]]:
    if not isinstance(record, ReplicasRecord):
        attacked = "one of the trainings that were attacked, if it alone is released"
        if (guarantee := record.guarantee()) is not None:
            yield (
                attacked if isinstance(record, InferenceRecord | AuditRecord) else "the released models",
                guarantee,
            )
        return
    several = len(record.experiments) > 1
    for variant in record.experiments:
        of = f" of {variant}" if several else ""
        yield f"one training{of}, if it alone is released", record.one_training(variant)
        if (certificate := record.certificates.get(variant)) is not None:
            trainings = certificate.setting.confidence.replicas
            yield f"all {many(trainings, 'training')}{of} released together", certificate.releasing_all


def _audited(about: str, guarantee: Guarantee, record: Record) -> AuditedGuarantee:
    words = promise(guarantee, seed=_seed(record), finished=record.finished)
    return AuditedGuarantee(
        about=about,
        guarantee=guarantee,
        heading=words.heading,
        sentences=words.sentences,
        facts=tuple(_facts(guarantee)) if guarantee.private else (),
    )


def _facts(guarantee: Guarantee) -> Iterator[tuple[str, str]]:
    yield "ε, rounded up", f"{epsilon_text(guarantee.epsilon)} (all digits: {guarantee.epsilon!r})"
    yield "δ", f"{delta_text(guarantee.delta)} (all digits: {guarantee.delta!r})"
    yield "Unit", "user: all data of one user" if guarantee.unit == "user" else "example: one of a user"
    yield "Neighbours", _NEIGHBOURS[guarantee.adjacency]
    yield "Sampling", guarantee.sampling
    if guarantee.terms.divisor is not None:
        whose = "declared" if guarantee.terms.declared else "from the number of users"
        yield "Divisor of sums", f"{guarantee.terms.divisor:g}, {whose}"
    yield "Rounds", f"{guarantee.rounds:,}"
    yield "Accountant", ACCOUNTANT_LABELS[guarantee.accountant]
    if guarantee.noise_source is not None:
        yield "Noise source", guarantee.noise_in_words


def certificates_of_record(record: Record) -> list[AuditedCertificate]:
    """What is certified about each variant, at the k that is spoken of first, for every threat."""
    if not isinstance(record, ReplicasRecord):
        return []
    return [
        AuditedCertificate(
            variant=variant,
            # What is said of one threat may be said of the next as well.
            sentences=tuple(
                dict.fromkeys(
                    sentence
                    for attack in certificate.attacks
                    for sentence in in_words(certificate, attack, headline(attack))
                )
            ),
            trusted=rests_on_trust(certificate),
        )
        for variant, certificate in record.certificates.items()
    ]


def assumptions_of(record: Record, found: list[AuditedGuarantee]) -> list[str]:
    """What must be true for the guarantees to hold, a sentence each."""
    return _lines("audit/assumptions.txt", record, found)


def not_covered_by(record: Record, found: list[AuditedGuarantee]) -> list[str]:
    """What no guarantee of the run covers, a sentence each."""
    return _lines("audit/not_covered.txt", record, found)


def _lines(template: str, record: Record, found: list[AuditedGuarantee]) -> list[str]:
    own = [each.guarantee for each in found if each.guarantee.private]
    terms = [each.terms for each in own]
    experiments = record.experiments if isinstance(record, ReplicasRecord) else {"all": record.experiment}
    return lines(
        template,
        manifest=record.manifest,
        private=bool(own),
        sampled=any(each.sampled for each in own),
        examples=any(each.unit == "example" for each in own),
        local=any(each.adjacency == "local" for each in own),
        zero_out=any(each.adjacency == "zero-out" for each in own),
        declared=any(each.declared for each in terms),
        noise_of_cohort=any(each.noise_of == "cohort" for each in terms),
        looks=any(each.looks for each in terms),
        floating=any(not each.exact for each in terms),
        papers=any(not each.proven for each in own),
        users=_declared_users(record),
        caveats=list(
            dict.fromkeys(
                [
                    record.manifest.all_caveats,
                    *(each.handed_out_in_words for each in terms),
                    *(each.public_in_words for each in terms),
                ]
            )
        ),
        objects=any(next(objects_of(each), None) is not None for each in experiments.values()),
        many_trainings=isinstance(record, ReplicasRecord),
        inference=isinstance(record, InferenceRecord | AuditRecord),
        certified=isinstance(record, ReplicasRecord) and bool(record.certificates),
    )


def _declared_users(record: Record) -> int | None:
    experiments = record.experiments.values() if isinstance(record, ReplicasRecord) else [record.experiment]
    privacy = next(iter(experiments)).get("privacy")
    users = privacy.get("users") if isinstance(privacy, dict) else None
    return users if isinstance(users, int) else None


def _seed(record: Record) -> int:
    experiments = record.experiments.values() if isinstance(record, ReplicasRecord) else [record.experiment]
    return int(next(iter(experiments))["seed"])
