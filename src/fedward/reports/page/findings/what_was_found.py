"""What a reader wants to know first about all runs together, as typed values that sentences are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedward.reports.numbers import percent
from fedward.reports.page.certified.three_accuracies import ThreeAccuracies, three_accuracies
from fedward.reports.page.examples.triggered import Pair, Triggered
from fedward.reports.page.findings.compared_training import ComparedTraining
from fedward.reports.page.words.guarantee_words import STRENGTHS, Guess, guess
from fedward.reports.templates import lines
from fedward.reports.terminal.audit_table import least
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.audit_result import AuditResult
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.results import LimitRecord, RocRecord
from fedward.rundir.run_record import ReplicasRecord

_COUNTS = (
    "No",
    "One",
    "Two",
    "Three",
    "Four",
    "Five",
    "Six",
    "Seven",
    "Eight",
    "Nine",
    "Ten",
    "Eleven",
    "Twelve",
)


@dataclass(frozen=True, kw_only=True)
class Promised:
    """A training with a guarantee, and what that leaves to guess."""

    training: ComparedTraining
    guess: Guess


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """A training that was attacked.

    Args:
      training: which one.
      attackers: how many users attack, if the experiment says a number.
      marked: whether they put a trigger on examples, whose success can be counted.
      telling: an example that shows what they achieve.
    """

    training: ComparedTraining
    attackers: int | None
    marked: bool
    telling: Pair | None

    @property
    def success(self) -> float | None:
        return self.training.attack_success


@dataclass(frozen=True, kw_only=True)
class Certified:
    """A training with a certificate."""

    training: ComparedTraining
    three: ThreeAccuracies


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A promise that an audit tried to refute."""

    training: ComparedTraining
    result: AuditResult

    @property
    def at_least(self) -> str:
        """The ε that was measured, rounded down."""
        return least(self.result.lower_bound)


@dataclass(frozen=True, kw_only=True)
class SpiedOn:
    """A training that somebody tried to learn something from: the best attempt, what no attempt exceeds, and
    whether it was asked who was trained on, or what their data is like,
    and whether it found more than is promised."""

    training: ComparedTraining
    best: RocRecord
    limit: LimitRecord
    membership: bool
    crossed: bool


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What was trained, what it promises, what attackers did and how many of them are survived.

    ``exposed`` are released and promise nothing.
    """

    runs: int
    trainings: tuple[ComparedTraining, ...]
    measured: tuple[ComparedTraining, ...]
    promised: tuple[Promised, ...]
    exposed: tuple[ComparedTraining, ...]
    attacked: tuple[Attacked, ...]
    certified: tuple[Certified, ...]
    audited: tuple[Audited, ...]
    spied_on: tuple[SpiedOn, ...]

    @property
    def data(self) -> str:
        """The data sets, as a sentence names them."""
        return " and ".join(dict.fromkeys(each.data_name for each in self.trainings))

    @property
    def users(self) -> tuple[int, int] | None:
        """The fewest users and the most; None where no run says how many it has."""
        known = [each.users for each in self.trainings if each.users is not None]
        return (min(known), max(known)) if known else None

    @property
    def accuracies(self) -> tuple[float, float] | None:
        """The smallest and the largest; None where nothing was measured."""
        known = [each.accuracy for each in self.measured if each.accuracy is not None]
        return (min(known), max(known)) if known else None

    @property
    def strengths(self) -> tuple[str, ...]:
        """The weakest protection that is promised and the strongest, or the one that all have."""
        found = sorted((each.guess.strength for each in self.promised), key=STRENGTHS.index)
        return tuple(dict.fromkeys((found[-1], found[0]))) if found else ()

    @property
    def seeded(self) -> tuple[ComparedTraining, ...]:
        """Those whose promise holds only for who does not know a seed."""
        found = ((each.training, each.training.guarantee) for each in self.promised)
        return tuple(training for training, own in found if own is not None and own.noise_source == "seeded")

    @property
    def telling(self) -> Attacked | None:
        """The attack that has an example to show, the most successful first."""
        shown = [each for each in self.attacked if each.telling is not None]
        return max(shown, key=lambda each: each.success or 0.0, default=None)

    @property
    def title(self) -> str:
        """The heading of the page."""
        if self.runs > 1:
            return f"{count_word(self.runs)} runs on {self.data}"
        first = self.trainings[0].experiment["algorithm"].get("preset", "an algorithm")
        return f"{first} on {self.data}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was trained and promised; what attackers did, and how many of them are survived."""
        about = {"found": self, "one": self.runs == 1, "count_word": count_word, "span": span}
        told = (lines(f"page/findings/{name}.txt", **about) for name in ("lead_trained", "lead_attackers"))
        return tuple(f"{text[0].upper()}{text[1:]}." for clauses in told if (text := "; ".join(clauses)))


def what_was_found(
    runs: int, trainings: Sequence[ComparedTraining], triggered: Mapping[str, Triggered]
) -> Findings:
    """The findings about these trainings; ``triggered`` says by run what its attack does to examples."""
    promised, exposed, attacked, certified = [], [], [], []
    audited, spied_on = [], []
    for each in trainings:
        known = None if each.guarantee is None else guess(each.guarantee)
        # Beside other runs an audit tests a promise, and adds none.
        testing = isinstance(each.record, AuditRecord) and len(trainings) > 1
        if known is not None and not testing:
            promised.append(Promised(training=each, guess=known))
        if known is None and each.released:
            exposed.append(each)
        if each.attack is not None:
            attacked.append(_attacked(each, triggered.get(each.run, Triggered())))
        record = each.record
        if isinstance(record, ReplicasRecord) and each.variant in record.certificates:
            certified.append(Certified(training=each, three=three_accuracies(record, each.variant)))
        if isinstance(record, AuditRecord) and record.result is not None:
            audited.append(Audited(training=each, result=record.result))
        if isinstance(record, InferenceRecord) and record.result is not None and record.best is not None:
            best = record.attacks[record.best]
            spied_on.append(
                SpiedOn(
                    training=each,
                    best=best,
                    limit=record.result.limit,
                    membership=record.kind == "membership",
                    crossed=bool(record.crossed),
                )
            )
    return Findings(
        runs=runs,
        trainings=tuple(trainings),
        measured=tuple(each for each in trainings if each.accuracy is not None),
        promised=tuple(promised),
        exposed=tuple(exposed),
        attacked=tuple(attacked),
        certified=tuple(certified),
        audited=tuple(audited),
        spied_on=tuple(spied_on),
    )


def _attacked(training: ComparedTraining, shown: Triggered) -> Attacked:
    attack = training.attack or {}
    count = (attack.get("who") or {}).get("count")
    return Attacked(
        training=training,
        attackers=count if isinstance(count, int) else None,
        marked=bool(attack.get("data")),
        telling=shown.telling,
    )


def count_word(count: int) -> str:
    """
    >>> count_word(3), count_word(40)
    ('Three', '40')
    """
    return _COUNTS[count] if count < len(_COUNTS) else f"{count:,}"


def span(low: float, high: float) -> str:
    """Two shares as a range, or one where they read the same.

    >>> span(0.5, 0.75), span(0.5, 0.5)
    ('50.0\\xa0% to 75.0\\xa0%', '50.0\\xa0%')
    """
    return " to ".join(dict.fromkeys((percent(low), percent(high))))
