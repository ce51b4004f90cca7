"""The stages of an audit by many trainings: which there are, and what each needs to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedward.auditing.audit_question import AuditQuestion
from fedward.auditing.banded_view import TURNS
from fedward.auditing.black_box_stage import (
    LOSS,
    BlackBoxStage,
    craft_canary,
    craft_weights,
    is_text,
    without_last_example,
)
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.server_stage import ServerStage
from fedward.auditing.user_stage import UserStage
from fedward.auditing.watched_rounds import watch
from fedward.backends.compute import Compute
from fedward.backends.open import open_backend
from fedward.base.validate import InvalidValue
from fedward.studies.audit.audited_claim import AuditedClaim, without_last_user

Seen = Iterator[Mapping[str, NDArray[np.float64]] | None]

# A kill loses at most a block, and all of a block is in memory together.
_BLOCK, _MEMORY = 100, 64 * 2**20
_ABOUT = {
    "quiet": "a canary among users that send nothing",
    "opposing": "a canary among users that all send the opposite",
    "users": "a canary in the data of one user",
    "black-box": "a canary with wrong labels, in a model that fits all others",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditStage:
    """One way to attack.

    Args:
      about: it, in words.
      tables: the names of what is seen; the first is the canary's direction.
      laws: what the claim says of each column of the first.
      show: runs trainings from their first replica on; yields None after every round, and at last what was
      seen.
    """

    about: str
    tables: tuple[str, ...]
    laws: tuple[RoundLaw, ...]
    show: Callable[[Sequence[bool], int], Seen]


def stage_names(claim: AuditedClaim, question: AuditQuestion) -> tuple[str, ...]:
    """The stages, by name: where a user is exchanged for another, others show nothing that it does not."""
    if question.mode == "black-box":
        return ("black-box",)
    if claim.algorithm.accounting != "server":
        return ("users",)
    return ("quiet",) if claim.ledger.adjacency == "replace-one" else ("quiet", "opposing")


def block_size(claim: AuditedClaim) -> int:
    """How many trainings run side by side."""
    parameters = claim.setup.parameters
    states = 2 * len(claim.algorithm.server.init(parameters)) + 4
    size = min(_BLOCK, _MEMORY // (states * parameters.nbytes))
    return max(2, size // 2 * 2)


def open_stages(
    claim: AuditedClaim, question: AuditQuestion, compute: Compute, stack: ExitStack
) -> dict[str, AuditStage]:
    """All stages, ready to run; their workers end with the stack."""
    names = stage_names(claim, question)
    if names == ("black-box",):
        return {"black-box": _black_box(claim, compute, stack)}
    if names == ("users",):
        return {"users": _users(claim, question, compute, stack)}
    setup = claim.setup
    having, lacking = claim.make(setup.federation, setup.model), claim.make(claim.lacking(), setup.model)
    found = {}
    for name in names:
        stage = ServerStage(
            having=having,
            lacking=lacking,
            company="opposing" if name == "opposing" else "quiet",
            last_only=question.see == "final",
            rounds=claim.rounds,
            seed=setup.experiment.seed,
        )
        found[name] = _watched(name, stage, claim)
    return found


def _watched(name: str, stage: ServerStage | UserStage, claim: AuditedClaim) -> AuditStage:
    rounds, seed = claim.rounds, claim.setup.experiment.seed
    view = stage.banded if isinstance(stage, ServerStage) else None

    def show(inside: Sequence[bool], first: int) -> Seen:
        for seen in watch(stage, inside, first, rounds, seed):
            if seen is not None and view is not None:
                seen[TURNS] = view.taken_apart(seen[stage.tables[0]])
            yield seen

    if view is None:
        return AuditStage(about=_ABOUT[name], tables=stage.tables, laws=stage.laws, show=show)
    return AuditStage(about=_ABOUT[name], tables=(TURNS, *stage.tables), laws=view.laws, show=show)


def _users(claim: AuditedClaim, question: AuditQuestion, compute: Compute, stack: ExitStack) -> AuditStage:
    having, lacking, model = claim.canary_data()
    # Its users train for a moment each: to send that to other processes takes longer.
    here = Compute(workers=0, engine=compute.engine)
    backends = [stack.enter_context(open_backend(model, each, here)) for each in (having, lacking)]
    stage = UserStage(
        having=claim.make(having, model),
        lacking=claim.make(lacking, model),
        data=(having, lacking),
        backends=(claim.backend(backends[0]), claim.backend(backends[1])),
        last_only=question.see == "final",
        rounds=claim.rounds,
    )
    return _watched("users", stage, claim)


def _black_box(claim: AuditedClaim, compute: Compute, stack: ExitStack) -> AuditStage:
    setup, ledger = claim.setup, claim.ledger
    if is_text(setup.federation):
        raise InvalidValue("a black box needs inputs of one shape, got text; audit the mechanism instead")
    having, canary = craft_canary(setup.federation, whole_user=ledger.unit == "user")
    # A user whose number is public stays, and sends zeros.
    silent = ledger.adjacency not in ("add/remove", "replace-one", "local")
    if silent and ledger.unit == "example":
        raise InvalidValue(
            "a black box needs users or examples that can be taken out, got sizes that are public; audit the "
            "mechanism instead"
        )
    lacking = setup.federation
    if ledger.adjacency == "add/remove":
        lacking = without_last_user(having) if ledger.unit == "user" else without_last_example(having)
    model = craft_weights(setup.model, setup.federation.examples, setup.experiment.seed)
    backends = [stack.enter_context(open_backend(model, each, compute)) for each in (having, lacking)]
    stage = BlackBoxStage(
        model=model,
        algorithms=(claim.make(having, model).algorithm, claim.make(lacking, model).algorithm),
        data=(having, lacking),
        backends=(backends[0], backends[1]),
        canary=canary,
        silent=silent,
        rounds=claim.rounds,
        seed=setup.experiment.seed,
    )
    return AuditStage(about=_ABOUT["black-box"], tables=(LOSS,), laws=(), show=stage.show)
