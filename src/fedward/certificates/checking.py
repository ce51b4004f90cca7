"""Checking a certificate again, from its file and the stored scores alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedward.base.limited_files import read_plain
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Attack, Certificate
from fedward.certificates.certificate_file import NotACertificate, Stored, loads, read_certificate_text
from fedward.certificates.code_version import code_version
from fedward.certificates.others.any_certificate import certify_by, draw_by, predicts_by
from fedward.certificates.prediction import FORMER_MOST
from fedward.certificates.statements import statements
from fedward.certificates.tally import Scores, read_scores
from fedward.certificates.trust import Statement, list_recomputed, list_trusted
from fedward.privacy.rounding import round_up_digits

# Two machines may differ in the last bits of a float, never in a claim.
_ROUNDING = 1e-9
_GIVE = "give the certificate.json in a directory of fedward certify"
UNBOUND = (
    "its replicas are not bound to what is claimed: they would be the same whatever was claimed, so that "
    "nothing was chosen after a look at them rests on whoever made it"
)
OLDER_WORDS = (
    "its words were not compared: they are those of version 1, which rounded ε to the nearest and did not "
    "say what sums are divided by; what is printed here is made from its numbers"
)


class Check(NamedTuple):
    """Whether a certificate holds, why not, and what else a reader should know.

    ``recomputed`` is what was computed again, nothing if that was not possible; ``rests_on_trust`` what no
    check of the files can find out, and what a certificate that holds therefore still rests on.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    recomputed: tuple[Statement, ...] = ()
    rests_on_trust: tuple[Statement, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems


def check(stored: Stored, scores: bytes) -> Check:
    """Computes a certificate once more and compares.

    It holds if nothing in it claims more than the stored scores support: the same top classes, lower bounds
    and k at most, upper bounds and ε at least what comes out again, and words that are those of its
    numbers. Claims that say less than they could still hold, and are noted. Nothing is trained: whether the
    scores come from trainings as they are stated rests on trust, and is listed.

    Args:
      stored: what ``certificate_file.loads`` found.
      scores: the content of the file beside it.
    """
    claimed = stored.certificate
    try:
        replicas = read_scores(scores)
    except InvalidValue as error:
        return Check((f"the stored scores are refused: {error}",), rests_on_trust=list_trusted(claimed))
    trusted = list_trusted(claimed, copies_told=replicas.copies_told)
    if claimed.draw and claimed.draw != (own := draw_by(claimed.setting, claimed.score)):
        return Check(
            (f"its replicas belong to the draw {claimed.draw}, and what is claimed here has the draw {own}",),
            rests_on_trust=trusted,
        )
    if replicas.digest() != claimed.scores:
        return Check(
            ("the stored scores were changed: their digest is not the one the certificate was made with",),
            rests_on_trust=trusted,
        )
    try:
        found = certify_by(claimed.setting, replicas)
    except InvalidValue as error:
        return Check((f"it cannot be computed again: {error}",), rests_on_trust=trusted)
    problems, notes = _compare(claimed, found)
    if stored.version == 1:
        notes.append(OLDER_WORDS)
    elif stored.says != statements(claimed):
        problems.append("its words are not those of its numbers")
    if not claimed.draw:
        notes.append(UNBOUND)
    if stored.code != code_version():
        made = f"fedward {stored.code['fedward']}, source {stored.code['source'][:8]}"
        notes.append(f"made by other code than this ({made}); checked by this one")
    return Check(
        tuple(problems), tuple(notes), recomputed=list_recomputed(claimed, replicas), rests_on_trust=trusted
    )


def read_evidence(file: Path) -> tuple[Stored, Scores]:
    """A certificate that ``check_file`` found to hold, and the scores beside it, to compare with others."""
    stored = loads(read_certificate_text(file))
    scores = read_scores(read_plain(file.parent / stored.file))
    if scores.digest() != stored.certificate.scores:
        raise InvalidValue(f"{file} must not change while it is checked, got other scores beside it")
    return stored, scores


def check_file(file: Path) -> tuple[Certificate | None, Check]:
    """Computes a certificate once more from its file, packed (``.gz``) or not, and the scores beside it.

    The certificate is None where its file is damaged. A file that never was one is refused.
    """
    try:
        stored = loads(read_certificate_text(file))
    except NotACertificate as error:
        raise InvalidValue(f"{file} is not a certificate: {error}; {_GIVE}") from error
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror or error}; {_GIVE}") from error
    except InvalidValue as error:
        return None, Check((f"{file}: {error}",))
    beside = file.parent / stored.file
    try:
        scores = read_plain(beside)
    except (OSError, ValueError) as error:
        # A ValueError is a name that no file can have.
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        unread = f"the stored scores cannot be read: {str(beside)!a}: {why}"
        return stored.certificate, Check((unread,), rests_on_trust=list_trusted(stored.certificate))
    return stored.certificate, check(stored, scores)


def _compare(claimed: Certificate, found: Certificate) -> tuple[list[str], list[str]]:
    for name in ("score", "seed", "classes", "examples", "draw"):
        if getattr(claimed, name) != getattr(found, name):
            return [f"{name} is {getattr(found, name) or 'none'}, not {getattr(claimed, name) or 'none'}"], []
    if [attack.threat for attack in claimed.attacks] != [attack.threat for attack in found.attacks]:
        return ["its attacks are not the threats of its setting"], []
    problems: list[str] = []
    notes: list[str] = []
    _note_excess("top", claimed.bounds.top, found.bounds.top, problems, problems)
    _note_excess("lower", claimed.bounds.lower, found.bounds.lower, problems, notes)
    _note_excess("upper", -claimed.bounds.upper, -found.bounds.upper, problems, notes)
    _note_excess("predicts", claimed.predicts, found.predicts, problems, notes)
    for attack, other in zip(claimed.attacks, found.attacks, strict=True):
        _compare_attack(attack, other, found, problems, notes)
    a, b = claimed.releasing_all, found.releasing_all
    comes_to = round_up_digits(b.epsilon, 6)
    if a.epsilon < b.epsilon * (1 - _ROUNDING):
        problems.append(f"ε of releasing all trainings is {comes_to}, not {round_up_digits(a.epsilon, 6)}")
    elif {**a.to_json(), "epsilon": 0} != {**b.to_json(), "epsilon": 0}:
        problems.append("the guarantee of releasing all trainings describes something else")
    elif a.epsilon > b.epsilon * (1 + _ROUNDING):
        notes.append(f"states a larger ε of releasing all trainings than the {comes_to} it comes to")
    return problems, notes


def _compare_attack(
    claimed: Attack, found: Attack, again: Certificate, problems: list[str], notes: list[str]
) -> None:
    name = claimed.threat
    if claimed.most not in (found.most, min(found.most, FORMER_MOST)):
        problems.append(f"{name}: the last k tried is {found.most}, not {claimed.most}")
    _note_excess(f"{name}: k", claimed.k, found.k, problems, notes)
    # About as many attackers as are claimed, which may be fewer than could be.
    predicts = predicts_by(
        again.setting, again.score, again.bounds.lower, found.threat, np.minimum(claimed.k, found.k)
    )
    _note_excess(f"{name}: predicts", claimed.predicts, predicts, problems, notes)
    if (claimed.accuracy is None) != (found.accuracy is None):
        problems.append(f"{name}: certified accuracy needs labels, and they must be stored")
    elif claimed.accuracy is not None and found.accuracy is not None:
        length = max(len(claimed.accuracy), len(found.accuracy))
        a, b = (np.pad(values, (0, length - len(values))) for values in (claimed.accuracy, found.accuracy))
        _note_excess(f"{name}: accuracy", a, b, problems, notes, of="k =")


def _note_excess(
    name: str, claimed: Any, found: Any, problems: list[str], notes: list[str], of: str = "example"
) -> None:
    """Notes where a claim differs from what was found: too much is a problem, too little is not."""
    for wrong, where, relation in (
        (claimed > found + _ROUNDING, problems, "claims more than"),
        (claimed < found - _ROUNDING, notes, "claims less than"),
    ):
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            more = f" and {int(wrong.sum()) - 1} more" if wrong.sum() > 1 else ""
            where.append(
                f"{name} {relation} the scores show, for {of} {i}{more}: {abs(claimed[i]):.6g}, "
                f"found {abs(found[i]):.6g}"
            )
