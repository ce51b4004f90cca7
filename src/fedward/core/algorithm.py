"""An algorithm: a composition of parts, and what they declare about privacy together."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from dp_accounting import ComposedDpEvent, DpEvent, GaussianDpEvent, NonPrivateDpEvent, NoOpDpEvent
from torch import Tensor

from fedward.base.randomness import Source, checked_draw
from fedward.base.validate import InvalidType, InvalidValue, one_of, positive, whole
from fedward.core.types import (
    Aggregator,
    Bounds,
    ClipPolicy,
    Cohorts,
    LocalTrainer,
    Mechanism,
    Norm,
    PrivateTrainer,
    Sampler,
    Sensitivity,
    ServerOptimizer,
    ServerState,
)
from fedward.privacy.aggregate import aggregate_event
from fedward.privacy.events import Adjacency, fold
from fedward.privacy.guarantee import Guarantee, Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.terms import NoiseOf, Terms
from fedward.privacy.user_ledgers import UserLedgers

Accounting = Literal["server", "users", "aggregate"]
"""Whose noise protects: the server's, each user's own, or that of all users of a cohort together."""

_NOISE_OF: dict[str, NoiseOf] = {"server": "server", "users": "looks", "aggregate": "cohort"}


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One federated learning algorithm.

    A round draws a cohort (``sampler``), trains locally (``local``), measures and clips the updates
    (``norm``, ``policy``), combines them (``aggregator``), adds noise (``mechanism``) and steps (``server``).

    What it guarantees follows from what the parts declare: the noise multiplier of a round's event is the
    noise's standard deviation divided by the aggregator's sensitivity under the sampler's adjacency. Where
    a part has no proof there is no ε, and ``unproven`` says why.

    With ``accounting="users"`` every user protects itself (``local`` is a ``PrivateTrainer``) and has a
    ledger of its own, of its own noise and of the server's looks at norms; the server's ledger holds the
    looks alone. With ``"aggregate"`` the noise of a
    whole cohort hides one example. ``server_clips`` is off where rows carry noise that clipping would take
    away. ``public_sizes`` says that the numbers of examples are made known beside the models; it stands in
    each user's guarantee, and so does ``deviating``, that attackers need not do to their own updates what the
    others do. ``void`` says why what was declared does not hold in this training: attackers who keep their
    noise back, say. ``handed_out`` counts the examples that a natural backdoor has taken from honest users.

    ``declared_users`` says that the expected cohort, which sums are divided by and noise is scaled with, was
    declared. Where it follows the number of users in the data, one user more changes the noise, and nothing
    is proven for that: the guarantee is then for *zero-out*, with a public number of users.
    """

    name: str
    sampler: Sampler
    local: LocalTrainer
    norm: Norm
    policy: ClipPolicy
    aggregator: Aggregator
    mechanism: Mechanism
    server: ServerOptimizer
    accounting: Accounting = "server"
    server_clips: bool = True
    public_sizes: bool = False
    deviating: bool = False
    void: str = ""
    handed_out: int = 0
    declared_users: bool = True

    def __post_init__(self) -> None:
        one_of("accounting", self.accounting, get_args(Accounting))
        self._check_accounting()
        if not callable(getattr(self.aggregator, "add", None)):
            raise InvalidType(
                f"aggregator must take rows one after the other, got {self.aggregator}; a rule that needs "
                "all rows goes into AllRows(rule=...)"
            )
        if not callable(getattr(self.mechanism, "privatise", None)):
            raise InvalidType(
                f"mechanism must make an aggregate private, got {self.mechanism}; "
                "fedward.core.types.Mechanism says how"
            )
        if self.mechanism.whole_training is not None:
            whole("rounds of a mechanism that is charged for a whole training", self.mechanism.whole_training)
            self.looks(0)
        if self.policy.reads_norms and not self.policy.unproven:
            raise InvalidValue(
                "a clip policy that reads the norms of the same round must say why no ε covers it "
                f"(unproven), got {self.policy}"
            )
        if self.norm.groups > 1 and not self.policy.per_group:
            raise InvalidValue(f"per-layer clipping needs a policy for several bounds, got {self.policy}")
        if self.mechanism.multiplier == 0:
            return
        if self.aggregator.sensitivity(1.0, "add/remove") is None:
            raise InvalidValue(f"noise needs an aggregator with a sensitivity, got {self.aggregator}")
        # A policy that reads the round's norms has a bound once it has seen some.
        first = () if self.policy.reads_norms else self.policy.bound(self.policy.init(), 0, None)
        if not math.isfinite(total_bound(first)):
            raise InvalidValue("noise needs clipped updates, got a policy without a bound")

    def _check_accounting(self) -> None:
        if self.void and self.accounting == "users":
            raise InvalidValue(f"what each user's own noise guarantees cannot be void, got {self.void!r}")
        if self.accounting == "server":
            if not self.server_clips and self.mechanism.multiplier > 0:
                raise InvalidValue("noise of the server needs rows that the server has clipped")
            return
        if not isinstance(self.local, PrivateTrainer):
            raise InvalidValue(f"users that protect themselves need a private trainer, got {self.local}")
        if self.mechanism.multiplier > 0:
            raise InvalidValue(
                "the server's noise and the users' are accounted for apart: got both, use one of them"
            )
        if self.policy.unproven:
            raise InvalidValue(
                f"users that protect themselves need a clip policy with a proof, got {self.policy}: "
                f"{self.policy.unproven}"
            )
        if self.accounting == "aggregate":
            aggregate_event(self.local.local_event(0), 1.0)
            if not self.sampler.exact:
                raise InvalidValue(
                    "the noise of a whole cohort needs cohorts of a known size (fixed-size or everyone), "
                    f"got {self.sampler}"
                )
        self.looks(0)

    @property
    def protector(self) -> PrivateTrainer:
        """The local trainer, where users protect themselves."""
        assert isinstance(self.local, PrivateTrainer)  # checked when the algorithm was made
        return self.local

    @property
    def unit(self) -> Unit:
        """Whose presence is hidden."""
        return "user" if self.accounting == "server" else self.protector.unit

    @property
    def adjacency(self) -> Adjacency:
        """Which two federations the ledger of the server (or of a cohort) keeps apart."""
        if self.accounting == "aggregate":
            return self.protector.adjacency
        counted = self.sampler.adjacency == "add/remove" and not self.declared_users
        return "zero-out" if counted else self.sampler.adjacency

    @property
    def user_adjacency(self) -> Adjacency:
        """The same for the ledger of a user that protects itself.

        Sizes that weigh the mean are public: one example more would change them, one that counts as zero
        does not.
        """
        counted = self.protector.adjacency == "add/remove" and self.public_sizes
        return "zero-out" if counted else self.protector.adjacency

    @property
    def noise_source(self) -> Source:
        """Where the noise that protects comes from."""
        return self.mechanism.source if self.accounting == "server" else self.protector.noise_source

    @property
    def unproven(self) -> str:
        """Why this algorithm has no ε; empty if it has one."""
        if self.void:
            return self.void
        if self.accounting == "server" and self.mechanism.multiplier == 0:
            if isinstance(self.local, PrivateTrainer):
                return "the server adds no noise, and this algorithm does not account for the users' own"
            return "no noise is added"
        return self.policy.unproven

    def looks(self, round: int) -> tuple[float, ...]:
        """The noise multipliers of the clip policy's looks in a round; refuses those nobody accounts for."""
        looks = self.policy.looks(round)
        if looks and self.mechanism.whole_training is not None:
            raise InvalidValue(
                "noise that is charged for a whole training needs a clip bound without looks, got "
                f"{self.policy}, which looks in round {round}"
            )
        if looks and self.accounting == "aggregate":
            raise InvalidValue(
                f"the noise of a whole cohort needs a clip bound without looks, got {self.policy}, which "
                f"looks in round {round}"
            )
        if looks and self.accounting == "users" and self.unit == "example":
            raise InvalidValue(
                "users that hide single examples clip those, and a look at the norms of updates says nothing "
                f"about them, got {self.policy}, which looks in round {round}"
            )
        return looks

    def round_event(self, num_users: int, round: int, *, again: bool = False) -> DpEvent:
        """What one round does to all users: the event of the cohort, amplified by its sampling.

        Where the clip policy looks at private norms the event is composed of the model's noise, first, and
        the looks; accountants fold them into one Gaussian. Where users protect themselves it is that of the
        looks alone: see ``user_event``. A mechanism that is charged for its whole training is charged in
        round 0, and once more for each round that is done ``again`` with fresh noise.
        """
        looks = self.looks(round)
        if self.unproven:
            return NonPrivateDpEvent()
        if self.accounting == "aggregate":
            return aggregate_event(self.protector.local_event(round), self.sampler.expected_size(num_users))
        moves = self._look_moves(self.sampler.adjacency) if looks else 1.0
        if self.accounting == "users":
            if not looks:
                return NoOpDpEvent()
            return self.sampler.amplify(GaussianDpEvent(fold(*looks) / moves), num_users)
        covered = self.mechanism.whole_training
        if covered is not None and round >= covered:
            raise InvalidValue(f"round must be below {covered}, which {self.mechanism} covers, got {round}")
        if covered is not None and round > 0 and not again:
            return NoOpDpEvent()
        ratio = self._sensitivity("add/remove") / self._sensitivity(self.sampler.adjacency)
        looked = tuple(z / moves for z in looks)
        cohorts = Cohorts(sampler=self.sampler, num_users=num_users, looks=looked)
        return self.mechanism.event(ratio, cohorts)

    def user_event(self, round: int) -> DpEvent:
        """What one round costs each user of its cohort, where users protect themselves.

        Its own noise and, composed with it, the looks: the bound of the next round follows from them, and the
        released models show it. A user whose data are replaced moves a look as far as the policy has proven
        (``replaced_moves``). Nothing is gained from the drawing of users: everybody may know who takes part.
        """
        own, looks = self.protector.local_event(round), self.looks(round)
        if not looks:
            return own
        moves = self._look_moves("local")
        return ComposedDpEvent([own, *(GaussianDpEvent(z / moves) for z in looks)])

    def _look_moves(self, adjacency: Adjacency) -> float:
        """How many times as far as one user added or removed a neighbour moves the policy's looks."""
        if adjacency in ("add/remove", "zero-out"):
            return 1.0
        try:
            moves = positive("replaced_moves of the clip policy", self.policy.replaced_moves)
        except AttributeError as error:
            if error.name != "replaced_moves":  # a fault inside of it
                raise
            raise InvalidType(
                f"replaced_moves must be declared by {self.policy}, which looks at norms, got nothing: how "
                "many times as far one user replaced moves a look as one added or removed; 2 always holds"
            ) from error
        if moves > 2:
            raise InvalidValue(f"replaced_moves must be at most 2, which always holds, got {moves}")
        return moves

    def guarantee(self, num_users: int, rounds: int, delta: float, accountant: str) -> Guarantee:
        """What so many rounds spend; known before any of them.

        Where users protect themselves: what a user spends that is drawn in every round, looks included.
        """
        return self.spent(num_users, rounds).guarantee(delta, accountant)

    def spent(self, num_users: int, rounds: int) -> Ledger:
        """The ledger that the guarantee is of: the server's, or that of a user drawn in every round."""
        if self.accounting != "users":
            return self.planned_ledger(num_users, rounds)
        events: list[DpEvent] = []
        counts: list[int] = []
        for event, same in itertools.groupby(self.user_event(t) for t in range(rounds)):
            if event not in events:
                events.append(event)
                counts.append(0)
            counts[events.index(event)] += sum(1 for _ in same)
        ledgers = replace(self.new_user_ledgers(1), events=tuple(events), histories=(tuple(counts),))
        return ledgers.ledger(0)

    def planned_ledger(self, num_users: int, rounds: int) -> Ledger:
        """The ledger after so many rounds; which of them look at norms is known beforehand."""
        ledger = self.new_ledger()
        for event, same in itertools.groupby(self.round_event(num_users, t) for t in range(rounds)):
            ledger = ledger.charged(event, sum(1 for _ in same))
        return ledger

    def bounds(self, state: ServerState, norms: list[Bounds] | None) -> Bounds:
        """The round's bound for each group of the norm."""
        bounds = self.policy.bound(state.policy, state.round, norms)
        return bounds * self.norm.groups if len(bounds) == 1 else bounds

    def sensitivity(self, bound: float) -> Sensitivity:
        """How far one user with a row of norm at most ``bound`` moves the aggregate; infinite if unproven."""
        share = self.aggregator.sensitivity(1.0, "add/remove")
        return Sensitivity(row=bound, share=math.inf if share is None else share)

    def noise_std(self, bound: float) -> float:
        """Standard deviation of the noise on the aggregate of rows of norm at most ``bound``."""
        if self.mechanism.multiplier == 0:
            return 0.0
        return self.sensitivity(bound).times(self.mechanism.multiplier)

    def init(
        self, parameters: Tensor, replica: int = 0, num_users: int | None = None, draw: str = ""
    ) -> ServerState:
        """The state before round 0. The number of users is needed where they have ledgers of their own."""
        whole("replica", replica, at_least=0)
        if self.accounting == "users" and num_users is None:
            raise InvalidValue("number of users must be given where users have ledgers of their own")
        return ServerState(
            replica=replica,
            round=0,
            parameters=parameters,
            server=self.server.init(parameters),
            policy=self.policy.init(),
            mechanism=self.mechanism.init(parameters),
            ledger=self.new_ledger(),
            users=self.new_user_ledgers(num_users) if self.accounting == "users" and num_users else None,
            draw=checked_draw(draw),
        )

    def new_user_ledgers(self, num_users: int) -> UserLedgers:
        """Empty ledgers of users that protect themselves."""
        trainer = self.protector
        return UserLedgers.new(
            num_users,
            unit=trainer.unit,
            adjacency=self.user_adjacency,
            noise_source=trainer.noise_source,
            terms=Terms(
                noise_of="user",
                staged=self.sampler.staged,
                deviating=self.deviating,
                public_sizes=self.public_sizes,
                handed_out=self.handed_out,
            ),
        )

    def new_ledger(self) -> Ledger:
        """An empty ledger about this algorithm."""
        whole_cohort, divisor = self.accounting == "aggregate", self.aggregator.divisor
        averages = self.accounting == "server" and divisor is not None
        return Ledger(
            unit=self.protector.unit if whole_cohort else "user",
            adjacency=self.adjacency,
            noise_source=self.noise_source,
            terms=Terms(
                noise_of=_NOISE_OF[self.accounting],
                divisor=divisor if averages else None,
                declared=averages and (self.declared_users or self.sampler.declares_size),
                cohort=divisor if whole_cohort else None,
                staged=self.sampler.staged,
                handed_out=self.handed_out,
            ),
            reason=self.unproven,
        )

    def _sensitivity(self, adjacency: Adjacency) -> float:
        """How far one user with updates of norm at most 1 can move the aggregate."""
        sensitivity = self.aggregator.sensitivity(1.0, adjacency)
        assert sensitivity is not None  # checked when the algorithm was made
        return sensitivity


def total_bound(bounds: Bounds) -> float:
    """The L2 norm that a row clipped group by group cannot exceed: sqrt(sum of S_l²)."""
    return math.hypot(*bounds)
