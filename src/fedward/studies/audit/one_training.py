"""An audit by one training with many canaries.

run.json       what is audited, and how
ledger.json    what is claimed
checkpoint.pt  the training under way
seen-000.npz   what the attacker saw of each canary in each round so far
result.json    the bounds, and the verdict
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from fedward.attacks.inference.auc import Floats
from fedward.auditing.audit_question import AuditQuestion
from fedward.auditing.canary_crowd import Crowd, ServerCrowd, UserCrowd, toss
from fedward.auditing.chosen_test import exact_scores
from fedward.auditing.error_rates import ErrorRates
from fedward.auditing.guess_plan import plan_guesses
from fedward.auditing.level_model import CanaryData, canary_federation, level_model
from fedward.auditing.one_run_bound import one_run_epsilon, right_guesses
from fedward.auditing.one_run_curve import one_run_family_epsilon
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.watched_rounds import DRAW
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.engines.threads import single_threaded
from fedward.backends.open import open_backend
from fedward.backends.protocol import Backend
from fedward.base.arrays_file import check_arrays, read_array
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.core.federation import Federation
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.train import reserve
from fedward.core.types import ServerState
from fedward.rundir import checkpoint
from fedward.rundir.audit_result import AuditResult, BoundRecord
from fedward.rundir.manifest import Manifest
from fedward.rundir.store import RunDirectory
from fedward.studies.audit.audit_files import audit_manifest, save_audit
from fedward.studies.audit.audit_findings import audit_result
from fedward.studies.audit.audited_claim import AuditedClaim, with_more_users
from fedward.studies.inference import attacked_trainings
from fedward.studies.progress import Clock, Progress
from fedward.studies.study import open_run_directory

MOST_CANARIES = 1000
_SEEN = "seen-000.npz"
_COINS = "each canary is in by a coin of its own"


@dataclass(frozen=True, kw_only=True)
class OneTrainingAudit:
    """An audit in the mode ``one-run``: canary users beside the real ones, or a canary in users' data."""

    claim: AuditedClaim
    question: AuditQuestion

    open = open_run_directory

    def __post_init__(self) -> None:
        if self.claim.ledger.adjacency == "replace-one":
            raise InvalidValue(
                "a one-run audit needs canaries that are in or out each by itself, got cohorts of a fixed "
                "size; audit the mechanism instead"
            )
        most = self.most_canaries
        if self.question.canaries is not None and self.question.canaries > most:
            raise InvalidValue(
                f"canaries must be at most {most:,}, {self._room}, got {self.question.canaries:,}; leave the "
                "option out to use as many"
            )
        if most < 10:
            raise InvalidValue(f"a one-run audit needs room for 10 canaries, got {most}: {self._room}")

    @property
    def _by_server(self) -> bool:
        return self.claim.algorithm.accounting == "server"

    @property
    def _room(self) -> str:
        return "one for each parameter of the model" if self._by_server else "one for each user"

    @property
    def most_canaries(self) -> int:
        """How many there is room for: orthogonal directions, or users."""
        setup = self.claim.setup
        return len(setup.parameters) if self._by_server else setup.federation.num_users

    @property
    def canaries(self) -> int:
        """How many there are."""
        return self.question.canaries or min(MOST_CANARIES, self.most_canaries)

    def manifest(self, engine: str = "") -> Manifest:
        """What is run."""
        about = {"mode": self.question.mode, "see": self.question.see, "canaries": self.canaries}
        return audit_manifest(self.claim, about, engine)

    @cached_property
    def inside(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each canary is in."""
        return toss(self.canaries, self.claim.setup.experiment.seed)

    def steps(self, place: RunDirectory, compute: Compute = IN_PROCESS) -> Iterator[Progress]:
        """Trains, or goes on with it; yields after every round."""
        setup = self.claim.setup
        place.begin(self.manifest(setup.engine(compute)))
        clock = Clock({"round": self.claim.rounds})
        federation, model = (setup.federation, setup.model) if self._by_server else self._canary_data
        with single_threaded(), open_backend(model, federation, compute) as backend:
            crowd = self._crowd(self.claim.backend(backend), federation)
            yield from self._train(place, crowd, clock)
        save_audit(place, self.claim, self._judge(place, crowd.laws))
        place.files.remove("checkpoint.pt")

    @cached_property
    def _canary_data(self) -> tuple[Federation, torch.nn.Module]:
        federation, adjacency = self.claim.setup.federation, self.claim.ledger.adjacency
        out = "opposite" if adjacency == "local" else "nothing"
        data = CanaryData(
            users=tuple(range(self.canaries)),
            contents=tuple("canary" if there else out for there in self.inside),  # type: ignore[misc]
            added=adjacency == "add/remove",
            whole_user=adjacency == "local",
        )
        made = canary_federation(federation.sizes, federation.names, self.canaries, data)
        return made, level_model(self.canaries)

    def _crowd(self, backend: Backend, federation: Federation) -> Crowd:
        claim, rounds = self.claim, self.claim.rounds
        if not self._by_server:
            world = claim.make(federation, self._canary_data[1])
            return UserCrowd(around=world, inside=self.inside, backend=backend, rounds=rounds)
        gone = claim.ledger.adjacency == "add/remove"
        more = int(self.inside.sum()) if gone else self.canaries
        world = claim.make(with_more_users(federation, more), claim.setup.model)
        return ServerCrowd(
            around=world,
            inside=self.inside,
            real=federation.num_users,
            gone=gone,
            backend=backend,
            rounds=rounds,
            seed=claim.setup.experiment.seed,
        )

    def _train(self, place: RunDirectory, crowd: Crowd, clock: Clock) -> Iterator[Progress]:
        world, seed, rounds = crowd.world, self.claim.setup.experiment.seed, self.claim.rounds
        file, seen = place.path / "checkpoint.pt", np.zeros((rounds, self.canaries))
        state: ServerState = world.algorithm.init(world.parameters, 0, world.roster.num_users, DRAW)
        stored = self._stored(place)
        if stored is not None and (file.exists() or stored[0] == rounds):
            # What was seen is stored before the state that it belongs to.
            state = checkpoint.from_bytes(file.read_bytes(), str(file)) if file.exists() else state
            done = state.round if file.exists() else rounds
            seen[:done] = stored[1][:done]
            clock.skip("round", done)
            if done == rounds:
                return
        saved = time.monotonic()
        while state.round < rounds:
            plan = plan_round(world.algorithm, state, world.roster, None, seed)
            rows = list(crowd.rows(plan))
            reserved = reserve(world.algorithm, state, plan)
            received = receive(world.algorithm, reserved, plan, rows, seed)
            state, log = finish_round(world.algorithm, reserved, plan, received, seed)
            seen[plan.round] = crowd.look(plan, rows, log, state)
            last = state.round == rounds
            if last or time.monotonic() - saved >= attacked_trainings.SAVE_EVERY:
                place.files.write_arrays(_SEEN, {"seen": seen, "rounds": np.array(state.round)})
                place.files.write(file.name, checkpoint.to_bytes(state), private=True)
                saved = time.monotonic()
            clock.tick("round", measured=state.round > 1)
            yield clock.progress()

    def _stored(self, place: RunDirectory) -> tuple[int, Floats] | None:
        file = place.path / _SEEN
        if not file.exists():
            return None
        with add_to_errors(after="; remove it and checkpoint.pt, and the training is run again"):
            check_arrays(file)
            seen, done = read_array(file, "seen"), int(read_array(file, "rounds"))
            if seen.shape != (self.claim.rounds, self.canaries) or not 0 <= done <= len(seen):
                raise InvalidValue(
                    f"{file} is damaged: it must hold {self.claim.rounds} rounds of {self.canaries}"
                )
        return done, seen

    def _judge(self, place: RunDirectory, laws: tuple[RoundLaw, ...]) -> AuditResult:
        stored = self._stored(place)
        assert stored is not None  # the training is over
        question, family, canaries = self.question, self.claim.family, self.canaries
        scores = exact_scores(laws, stored[1])
        guesses = plan_guesses(laws, canaries, family.delta, question.error / 2)
        right = right_guesses(scores, self.inside, guesses, guesses)
        wrong = [[2 * guesses - right, 2 * guesses]]
        error = question.error / 2
        bounds = [
            BoundRecord(
                method="one run",
                epsilon=one_run_epsilon(canaries, 2 * guesses, right, family.delta, error),
                assumes="",
                wrong=wrong,
            ),
            BoundRecord(
                method="one run, noise family",
                epsilon=one_run_family_epsilon(family, canaries, 2 * guesses, right, error),
                assumes=family.assumption,
                wrong=wrong,
            ),
        ]
        rates = ErrorRates.of(float(np.median(scores)), scores[self.inside], scores[~self.inside])
        about = (
            "canary users in orthogonal directions"
            if self._by_server
            else "a canary in the data of each user"
        )
        attack = f"{canaries:,} canaries, {_COINS}: {about}; exact likelihood ratio, {2 * guesses:,} guesses"
        estimate = family.least_epsilon(*rates.smoothed)
        return audit_result(self.claim, question, bounds, estimate, attack, canaries)

    def result(self, place: RunDirectory) -> AuditResult:
        """What was found; stored when the training was judged."""
        found = place.result()
        assert isinstance(found, AuditResult)  # it has just been made
        return found
