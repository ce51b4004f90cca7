"""The promises of a backend: answers in order, with the same bits everywhere, whatever goes wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from fedward.backends.protocol import Backend
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.types import Job, Row
from fedward.testing.backend_jobs import (
    USERS,
    Fails,
    Writes,
    examples_to_measure,
    jobs_of,
    network,
    people,
    reference,
    start_of,
)
from fedward.testing.conformance import (
    Conformance,
    Promise,
    broken,
    check_promises,
    function_name,
    not_applicable,
)
from fedward.testing.repeatable import in_short, same_bits

Make = Callable[[nn.Module, Federation], Backend]
_FAR_AHEAD = 20_000


def check_backend(make: Make, *, streams: bool = True, has_data: bool = True) -> Conformance:
    """Runs every promise of ``fedward.backends.protocol.Backend``.

    Args:
      make: takes a module and a federation and returns the backend; it is called many times.
      streams: say False for one that must know all jobs before it gives a row.
      has_data: say False for one whose jobs run where their users are: it sends nobody examples, and what
        fails there is a user that drops out, not the end of the training.
    """
    name = function_name(make, "the backend")
    with closing(make(network(), people())) as backend:
        return check_promises("backend", _Trial(make, backend, streams, has_data), _PROMISES, name=name)


@dataclass(frozen=True)
class _Trial:
    """A way to make backends, and one that was made for ``network`` on ``people``."""

    make: Make
    backend: Backend
    streams: bool
    has_data: bool

    def make_for(self, model: nn.Module, federation: Federation) -> Backend:
        """Another one; ends the check where it refuses such a model."""
        try:
            return self.make(model, federation)
        except InvalidValue as error:
            not_applicable(f"it refuses such a model: {error}")


def _answers_in_order(trial: _Trial) -> None:
    order = [3, 0, 4, 1, 2, 0, 3]
    asked = jobs_of(network(), order)
    backend = trial.backend
    rows = list(backend.train(asked))
    if [row.user for row in rows] != order:
        broken(
            f"jobs of users {order} were answered in the order {[row.user for row in rows]}",
            "Yield one row for each job, in the order of the jobs",
        )
    _require_same(rows, list(reference().train(asked)))
    for job, row in zip(asked, rows, strict=True):
        (alone,) = backend.train([job])
        if not same_bits(alone.update, row.update):
            broken(
                f"the update of user {job.user} has other bits when it is asked for alone",
                "Compute an update the same way whatever else is in its chunk",
            )


def _answers_nothing_with_nothing(trial: _Trial) -> None:
    backend = trial.backend
    answers = [
        list(backend.train([])),
        list(backend.evaluate_many([], examples_to_measure())),
        list(backend.confidences([], examples_to_measure())),
    ]
    if any(answers):
        broken(f"nothing was asked for, and {in_short(answers)} came", "Yield one answer for each question")


def _takes_jobs_as_they_come(trial: _Trial) -> None:
    if not trial.streams:
        not_applicable("it must know all jobs first (streams=False)")
    taken = 0

    def endless() -> Iterator[Job]:
        nonlocal taken
        for job in itertools.cycle(jobs_of(network(), USERS)):
            taken += 1
            if taken > _FAR_AHEAD:
                broken(
                    f"{taken:,} jobs were taken for 10 rows",
                    "Take jobs only a little ahead: they may not fit memory",
                )
            yield job

    backend = trial.backend
    rows = backend.train(endless())
    for _ in range(10):
        next(rows)
    if isinstance(rows, Iterator) and callable(getattr(rows, "close", None)):
        rows.close()  # type: ignore[attr-defined]


def _trains_on_a_jobs_own_examples(trial: _Trial) -> None:
    if not trial.has_data:
        not_applicable("its users train on their own data where they are (has_data=False)")
    (job,) = jobs_of(network(), [1])
    other = replace(job, examples=people().user(3), num_examples=5, version="poisoned")
    backend = trial.backend
    rows = list(backend.train([other, job]))
    wanted = list(reference().train([other, job]))
    if not same_bits(rows[0].update, wanted[0].update):
        broken(
            "a job with examples of its own was trained on others",
            "Train on job.examples where there are some",
        )
    _require_same(rows, wanted)


def _measures(trial: _Trial) -> None:
    start = start_of(network())
    models, examples, here = [start, 2 * start, 0 * start], examples_to_measure(), reference()
    backend = trial.backend
    many, one = list(backend.evaluate_many(models, examples)), backend.evaluate(models[1], examples)
    scores = list(backend.confidences(models, examples))
    wanted = list(here.evaluate_many(models, examples))
    if many != wanted or one != wanted[1]:
        broken(
            f"models were measured as {many}, and in this process as {wanted}",
            "Measure in the same order of sums",
        )
    if not same_bits(scores, list(here.confidences(models, examples))):
        broken(
            f"confidences are {in_short(scores[0])}, and others in this process",
            "Return the softmax as float32, [examples, classes]",
        )


def _gives_no_opinion_of_a_broken_model(trial: _Trial) -> None:
    backend = trial.backend
    (scores,) = backend.confidences([torch.full_like(start_of(network()), torch.nan)], examples_to_measure())
    if not np.array_equal(scores, np.full_like(scores, 1 / scores.shape[1])):
        broken(
            f"a model of NaN has the confidences {in_short(scores)}",
            "Return equal ones where a score is not finite",
        )


def _ends_at_the_first_failure(trial: _Trial) -> None:
    if not trial.has_data:
        not_applicable("a job that fails where its user is has dropped out (has_data=False)")
    asked, bad = jobs_of(Fails(), USERS), people().user(2)
    assert isinstance(bad.x, Tensor)
    far = Examples(bad.x + 1000, bad.y)
    for place in (2, 4):
        asked[place] = replace(asked[place], examples=far, num_examples=1, version=f"bad {place}")
    rows: list[int] = []
    with closing(trial.make_for(Fails(), people())) as backend:
        try:
            rows.extend(row.user for row in backend.train(asked))
        except TrainingFailed as error:
            if error.user != 2 or rows != [0, 1]:
                broken(
                    f"user 2 fails first, but the error names user {error.user} after the rows of {rows}",
                    "Give all rows before the first job that fails, then raise TrainingFailed with its user",
                )
        else:
            broken("a job that fails was no error", "Raise fedward.core.failure.TrainingFailed with its user")
        if [row.user for row in backend.train(asked[:2])] != [0, 1]:
            broken("it cannot be used on after a job failed", "Let a failure end the call, not the backend")


def _protects_data(trial: _Trial) -> None:
    federation = people()
    (job,) = jobs_of(Writes(), [1])
    with closing(trial.make_for(Writes(), federation)) as backend:
        (first,), (again,) = backend.train([job]), backend.train([replace(job)])
    if not same_bits(first.update, again.update) or not same_bits(federation.user(1), people().user(1)):
        broken(
            "what a model writes to its input reaches the next job", "Give each job a copy of its examples"
        )


def _closes_twice(trial: _Trial) -> None:
    backend = trial.backend
    list(backend.train(jobs_of(network(), [0])))
    backend.close()
    backend.close()


def _require_same(rows: list[Row], wanted: list[Row]) -> None:
    for row, other in zip(rows, wanted, strict=True):
        if not same_bits(row.update, other.update) or row.norm != other.norm:
            broken(
                f"the update of user {row.user} is {in_short(row.update)}, and "
                f"{in_short(other.update)} in this process",
                "Train with the engines of fedward.backends.engines, from the job's seed",
            )


_PROMISES: tuple[Promise[_Trial], ...] = (
    Promise(says="answers jobs in their order, with the same bits everywhere", check=_answers_in_order),
    Promise(says="answers nothing with nothing", check=_answers_nothing_with_nothing),
    Promise(says="takes jobs only a little ahead of their rows", check=_takes_jobs_as_they_come),
    Promise(says="trains on the examples that a job brings", check=_trains_on_a_jobs_own_examples),
    Promise(says="measures models with the same bits everywhere", check=_measures),
    Promise(says="has no opinion of a model that is not finite", check=_gives_no_opinion_of_a_broken_model),
    Promise(says="ends at the first job that fails, and can be used on", check=_ends_at_the_first_failure),
    Promise(says="keeps data apart from what models write", check=_protects_data),
    Promise(says="may be closed twice", check=_closes_twice),
)
