"""The names of the files of run directories and sweeps: what each holds, and what its damage means."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """Files of one kind.

    Args:
      holds: what is in them.
      lost: what damage of them means.
      shown: whether what is in them is shown by ``load``, ``runs`` and ``report``.
      counted: whether these show how many there are.
      needed: whether a run goes on from them.
      made_again: whether the command that wrote them writes them again where they were removed.
      remedy: what to do, where a copy is not all that helps.
      named: whether an auditor asks for them by name.
    """

    holds: str
    lost: str
    shown: bool = False
    counted: bool = False
    needed: bool = False
    made_again: bool = False
    remedy: str = "put back a copy of it"
    named: bool = True


_AGAIN = "remove it, and the same command makes it again"
_DRAWN = FileKind(
    holds="a picture or table of the results",
    lost="the picture, or table, is not that of the results; they are in other files",
    made_again=True,
    remedy=_AGAIN,
    named=False,
)

_PICTURES = (
    *("certified_accuracy.png", "attack_cost.png", "membership.png", "property.png"),
    *("sweep.png", "sweep.csv", "arena.png", "arena.csv"),
)

KINDS: Mapping[str, FileKind] = {
    "run.json": FileKind(
        holds="what was run, on which data, computed by what",
        lost="it is not known what was run, with which seed and on which data",
        shown=True,
        needed=True,
    ),
    "result.json": FileKind(
        holds="the result",
        lost="no number of the result can be believed",
        shown=True,
        made_again=True,
        remedy=_AGAIN,
    ),
    "ledger.json": FileKind(
        holds="what was spent: ε follows from it",
        lost="what was spent is not known: no ε of this run can be believed",
        shown=True,
        needed=True,
    ),
    "ledgers.json": FileKind(
        holds="what one training of each variant spends",
        lost="what one training spends is not known: no ε of these replicas can be believed",
        shown=True,
        remedy=_AGAIN,
    ),
    "users.json": FileKind(
        holds="what each user has spent",
        lost="what users have spent is not known: no ε of this run can be believed",
        shown=True,
        needed=True,
    ),
    "papers-ledger.json": FileKind(
        holds="what a paper takes the training to have spent",
        lost="the paper's claim cannot be computed",
        shown=True,
    ),
    "model.pt": FileKind(
        holds="the model that would be released",
        lost="this is not the model that was trained: nothing that was measured or promised is about it",
    ),
    "rounds.jsonl": FileKind(
        holds="what was measured after each round",
        lost="what was measured after the rounds cannot be believed",
        shown=True,
        needed=True,
    ),
    "telemetry.jsonl": FileKind(
        holds="cohorts and norms: covered by no ε",
        lost="cohorts and norms of the rounds cannot be believed",
        shown=True,
        needed=True,
    ),
    "checkpoint.pt": FileKind(
        holds="the state after the last round",
        lost="the run cannot go on from it",
        needed=True,
        named=False,
    ),
    "checkpoint-*.pt": FileKind(
        holds="the state of a training under way",
        lost="the training under way cannot go on from it",
        needed=True,
        made_again=True,
        remedy="remove it, and its training is run again",
        named=False,
    ),
    "block.pt": FileKind(
        holds="the states of the replicas under way",
        lost="the replicas under way cannot go on from it",
        needed=True,
        made_again=True,
        remedy="remove it, and its replicas are trained again from their first round",
        named=False,
    ),
    "scores-*.npz": FileKind(
        holds="what finished trainings say about examples",
        lost="results and certificates do not follow from these scores",
        counted=True,
        needed=True,
        made_again=True,
        remedy="remove it and those after it, and their trainings are run again",
        named=False,
    ),
    "ahead-*.npz": FileKind(
        holds="what finished trainings say about examples, whose turn has not come",
        lost="results and certificates would not follow from these scores",
        needed=True,
        made_again=True,
        remedy="remove it, and its trainings are run again",
        named=False,
    ),
    "seen-*.npz": FileKind(
        holds="what an audit saw of its trainings",
        lost="the bounds of the audit do not follow from this",
        counted=True,
        needed=True,
        made_again=True,
        remedy="remove it, and its trainings are run again",
        named=False,
    ),
    "sums.npz": FileKind(
        holds="running sums of what replicas say",
        lost="results and certificates do not follow from these sums",
        shown=True,
        needed=True,
        remedy="put back a copy of it, or start again in another directory with --out",
        named=False,
    ),
    "labels.npz": FileKind(
        holds="the true classes of the test examples",
        lost="accuracies do not follow from these classes",
        shown=True,
        remedy=_AGAIN,
    ),
    "claims.json": FileKind(
        holds="what was to be claimed, fixed before the trainings",
        lost="it is not known what was to be claimed before the trainings",
        needed=True,
    ),
    "certificate-scores*.npz": FileKind(
        holds="the scores that a certificate was computed from",
        lost="the certificate cannot be computed again from these scores",
        made_again=True,
        remedy=_AGAIN,
    ),
    "certificate*.json": FileKind(
        holds="a certificate",
        lost="nothing that is certified can be believed",
        shown=True,
        needed=True,
        remedy=_AGAIN,
    ),
    "certificate*.json.gz": FileKind(
        holds="a certificate, packed", lost="nothing that is certified can be believed", shown=True
    ),
    "certified.json": FileKind(
        holds="the summary of what is certified",
        lost="nothing in the summary of what is certified can be believed",
        shown=True,
        remedy=_AGAIN,
    ),
    "curves.npz": FileKind(
        holds="the curves of inference attacks",
        lost="the curves of the attacks cannot be believed",
        shown=True,
        remedy=_AGAIN,
    ),
    "part.json": FileKind(
        holds="which replicas, or trainings of a sweep, are run here, where others run the rest",
        lost="it is not known which replicas, or trainings, belong here",
        needed=True,
        named=False,
    ),
    "swept.json": FileKind(
        holds="what is swept",
        lost="it is not known which trainings belong to the sweep",
        needed=True,
        named=False,
    ),
    "sweep.json": FileKind(
        holds="the table of a sweep",
        lost="no number in the table can be believed",
        shown=True,
        remedy=_AGAIN,
        named=False,
    ),
    "arena.json": FileKind(
        holds="what meets in an arena, and its table",
        lost="no number in the table can be believed",
        shown=True,
        remedy=_AGAIN,
        named=False,
    ),
    "seconds.json": FileKind(
        holds="how long the rounds of an arena took",
        lost="how long rounds took cannot be believed",
        made_again=True,
        remedy=_AGAIN,
        named=False,
    ),
    "*/digests.jsonl": FileKind(
        holds="the digests of a training of the sweep",
        lost="this training was changed, or gone on with, since the sweep ended",
        remedy="put back a copy of its directory, or run the sweep again",
        named=False,
    ),
    **dict.fromkeys(_PICTURES, _DRAWN),
}
"""Every kind by its name or pattern; the first that fits counts."""

_SAID_OTHERWISE = ("ledger.json", "users.json", "ledgers.json", "run.json")
"""Files without which a run is not refused when it is read: it has no ε then, and says why."""


def kind_of_file(name: str) -> FileKind | None:
    """What a file of this name is; None for files that fedward does not write into runs.

    >>> kind_of_file("certificate-scores.npz").holds
    'the scores that a certificate was computed from'
    """
    return next((kind for pattern, kind in KINDS.items() if fnmatch.fnmatchcase(name, pattern)), None)


def is_own(name: str) -> bool:
    """Whether it is the name of a file that runs or sweeps have."""
    return kind_of_file(name) is not None


def is_shown(name: str) -> bool:
    """Whether what is in such a file is shown by whatever reads runs."""
    kind = kind_of_file(name)
    return kind is not None and kind.shown


def is_counted(name: str) -> bool:
    """Whether it is shown how many of such files there are."""
    kind = kind_of_file(name)
    return kind is not None and kind.counted


def is_needed(name: str) -> bool:
    """Whether a run goes on from such a file."""
    kind = kind_of_file(name)
    return kind is not None and kind.needed


def is_said_otherwise(name: str) -> bool:
    """Whether the loss of such a file is said by whatever needs it, with what it means there."""
    return name in _SAID_OTHERWISE


def made_again(name: str) -> bool:
    """Whether such a file may be removed, to have the same command make it again."""
    kind = kind_of_file(name)
    return kind is not None and kind.made_again
