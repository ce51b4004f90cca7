"""A record in one line: what it is, where it lies, what was found and what is guaranteed."""

from __future__ import annotations

from fedward.certificates.level import level
from fedward.privacy import Guarantee
from fedward.privacy.rounding import delta_text, epsilon_text
from fedward.reports.numbers import many, measures_in_words, percent_certified
from fedward.reports.page.words.certificate_words import headline
from fedward.rundir.arena_record import ArenaRecord
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.rundir.sweep_record import SweepRecord


def record_line(record: Record | SweepRecord | ArenaRecord) -> str:
    """What a person asks first: how long, how well, how private."""
    if isinstance(record, ArenaRecord):
        facts = _arena(record)
    elif isinstance(record, SweepRecord):
        facts = _sweep(record)
    elif isinstance(record, RunRecord):
        facts = [many(record.rounds, "round"), *measures_in_words(record.last), _epsilon(record.guarantee())]
    elif isinstance(record, InferenceRecord):
        facts = _inference(record)
    elif isinstance(record, AuditRecord):
        mode = f"audit, {record.about.get('mode')}"
        facts = [mode] if record.result is None else [mode, record.result.sentence]
    else:
        facts = _replicas(record)
    if not isinstance(record, SweepRecord | ArenaRecord) and not record.finished:
        facts.insert(1, "not finished")
    return ", ".join(filter(None, facts)).replace("\xa0", " ")


def _epsilon(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return "nothing spent yet"
    if not guarantee.private:
        return "no guarantee"
    figure = f"ε = {epsilon_text(guarantee.epsilon)} at δ = {delta_text(guarantee.delta)}"
    return figure if guarantee.proven else f"{figure} (the papers' figure, no guarantee)"


def _inference(record: InferenceRecord) -> list[str]:
    facts = [f"{record.kind} inference"]
    if record.best is not None:
        facts += [f"AUC {record.attacks[record.best].auc.value:.3f} ({record.best})"]
        facts += [_epsilon(record.guarantee())]
    return facts


def _replicas(record: ReplicasRecord) -> list[str]:
    variants = len(record.experiments)
    facts = [many(record.replicas, "replica") + (f" of {variants} variants" if variants > 1 else "")]
    if not record.certificates:
        found = {} if record.result is None else record.result.variants
        means = [100 * each["accuracy"].value for each in found.values() if "accuracy" in each]
        return facts + ([f"accuracy {means[0]:.1f} %"] if len(means) == 1 else [])
    first = next(iter(record.certificates.values()))
    facts.append(f"certified with confidence {level(first.setting.confidence.error)}")
    if variants == 1 and first.attacks[0].accuracy:
        attack, k = first.attacks[0], headline(first.attacks[0])
        facts.append(f"{percent_certified(first.attacks[0].accuracy[k])} at k = {k} ({attack.threat})")
    return facts


def _sweep(record: SweepRecord) -> list[str]:
    means = [each["accuracy"]["mean"] for each in record.combinations if each.get("accuracy")]
    known = [mean for mean in means if mean is not None]
    facts = [many(len(record.combinations), "combination"), many(len(record.runs), "run")]
    return facts + ([f"accuracy {100 * min(known):.1f} to {100 * max(known):.1f} %"] if known else [])


def _arena(record: ArenaRecord) -> list[str]:
    about = record.about
    facts = [f"{many(len(about.defences), 'defence')} x {many(len(about.attacks) - 1, 'attack')}"]
    facts.append(many(len(record.runs), "run"))
    return facts + ([f"{many(len(about.refused), 'cell')} refused"] if about.refused else [])
