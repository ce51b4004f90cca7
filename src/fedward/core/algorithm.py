"""An algorithm: a composition of parts, and what they declare about privacy together."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
)
from torch import Tensor

from fedward.base.randomness import Source, check_draw
from fedward.base.validate import InvalidValue, one_of, whole
from fedward.core.check_parts import (
    check_aggregator,
    check_cohort_noise,
    check_exact_noise,
    check_mechanism,
    check_noise,
    check_participation,
    check_policy,
    check_protectors,
)
from fedward.core.epochs import epoch_of, new_coins
from fedward.core.grid import ExactMechanism, Grid
from fedward.core.looks import look_moves
from fedward.core.round_event import event_of_round
from fedward.core.types import (
    Aggregator,
    Bounds,
    ClipPolicy,
    EpochSampler,
    LocalTrainer,
    Mechanism,
    Norm,
    PrivateTrainer,
    PublicServer,
    RoundSampler,
    Sampler,
    SchemaMechanism,
    Sensitivity,
    ServerOptimizer,
    ServerState,
    WatchingAggregator,
)
from fedward.privacy.events import Adjacency
from fedward.privacy.guarantee import Guarantee, Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.participation import Participation
from fedward.privacy.public_data import PublicData
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
    ``public`` declares the public data behind the features that users train on, ``declared_public`` all.

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
    public: PublicData | None = None

    def __post_init__(self) -> None:
        one_of("accounting", self.accounting, get_args(Accounting))
        if self.void and self.accounting == "users":
            raise InvalidValue(f"what each user's own noise guarantees cannot be void, got {self.void!r}")
        check_mechanism(self.mechanism)
        noisy = self.mechanism.multiplier != 0
        if self.accounting != "server":
            check_protectors(self.local, self.policy, self.mechanism)
        elif noisy and not self.server_clips:
            raise InvalidValue("noise of the server needs rows that the server has clipped")
        if self.accounting == "aggregate":
            check_cohort_noise(self.protector, self.sampler)
        self.looks(0)
        check_aggregator(self.aggregator)
        check_policy(self.policy, self.norm)
        if noisy:
            check_noise(self.aggregator, self.policy)
        if self.exact:
            check_exact_noise(self.aggregator)
        check_participation(self.sampler, self.mechanism)

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
    def declared_public(self) -> PublicData | None:
        """All public data that it rests on: those behind the features, and behind the server's step."""
        if not isinstance(self.server, PublicServer):
            return self.public
        return replace(
            self.public or PublicData(features="", subspace=self.server.public_source),
            subspace=self.server.public_source,
            subspace_labels=self.server.public_labels,
        )

    def sampler_of(self, round: int) -> Sampler:
        """The sampler that draws the cohort of a round."""
        sampler = self.sampler
        return sampler.at_round(round) if isinstance(sampler, RoundSampler) else sampler

    @property
    def watching(self) -> WatchingAggregator | None:
        """The aggregator, where it watches rounds; None where it takes rows and nothing else."""
        return self.aggregator if isinstance(self.aggregator, WatchingAggregator) else None

    @property
    def root_user(self) -> int | None:
        """The user whose data are the server's own, where the aggregator has one."""
        return self.watching.root_user if self.watching is not None else None

    @property
    def participation(self) -> Participation | None:
        """The schema that every user is kept to, where the guarantee rests on one."""
        return self.mechanism.participation if isinstance(self.mechanism, SchemaMechanism) else None

    @property
    def exact(self) -> bool:
        """Whether the server's noise is drawn on a grid that rows are cut to, by integers alone."""
        mechanism = self.mechanism
        return self.accounting == "server" and isinstance(mechanism, ExactMechanism) and mechanism.exact

    def grid(self, bound: float) -> Grid | None:
        """The grid that rows of norm at most ``bound`` are cut to; None where they stay as they are."""
        if not self.exact:
            return None
        assert isinstance(self.mechanism, ExactMechanism)
        return self.mechanism.grid(bound)

    @property
    def unproven(self) -> str:
        """Why this algorithm has no ε; empty if it has one."""
        if self.void:
            return self.void
        if self.accounting == "server" and self.mechanism.multiplier == 0:
            if isinstance(self.local, PrivateTrainer):
                return "the server adds no noise, and this algorithm does not account for the users' own"
            if self.watching is not None and self.watching.own_noise:
                return self.watching.own_noise
            return "no noise is added"
        return self.policy.unproven

    def looks(self, round: int) -> tuple[float, ...]:
        """The noise multipliers of the clip policy's looks in a round; refuses those nobody accounts for."""
        looks = self.policy.looks(round)
        if looks and (why := self._why_no_looks()):
            raise InvalidValue(f"{why}, got {self.policy}, which looks in round {round}")
        return looks

    def _why_no_looks(self) -> str:
        """Why no clip policy may look at norms; empty if one may."""
        if self.mechanism.whole_training is not None:
            return "noise that is charged for a whole training needs a clip bound without looks"
        if isinstance(self.sampler, EpochSampler):
            return "cohorts that are drawn and charged for a whole epoch need a clip bound without looks"
        if self.accounting == "aggregate":
            return "the noise of a whole cohort needs a clip bound without looks"
        if self.accounting == "users" and self.unit == "example":
            return (
                "users that hide single examples clip those, and a look at the norms of updates says nothing "
                "about them"
            )
        return ""

    def round_event(self, num_users: int, round: int, *, again: bool = False) -> DpEvent:
        """What one round does to all users: the event of the cohort, amplified by its sampling.

        Where the clip policy looks at private norms the event is composed of the model's noise, first, and
        the looks; accountants fold them into one Gaussian. Where users protect themselves it is that of the
        looks alone: see ``user_event``. A mechanism that is charged for its whole training is charged in
        round 0, and once more for each round that is done ``again`` with fresh noise; where users are drawn,
        twice without sampling. So is an epoch whose cohorts are drawn together: in its first round, and once
        more for each of its rounds that is done again.
        """
        return event_of_round(self, num_users, round, again)

    def user_event(self, round: int) -> DpEvent:
        """What one round costs each user of its cohort, where users protect themselves.

        Its own noise and, composed with it, the looks: the bound of the next round follows from them, and the
        released models show it. A user whose data are replaced moves a look as far as the policy has proven
        (``replaced_moves``). Nothing is gained from the drawing of users: everybody may know who takes part.
        """
        own, looks = self.protector.local_event(round), self.looks(round)
        if not looks:
            return own
        moves = look_moves(self.policy, "local")
        return ComposedDpEvent([own, *(GaussianDpEvent(z / moves) for z in looks)])

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
            memory=self.watching.first_memory(parameters) if self.watching is not None else (),
            ledger=self.new_ledger(),
            users=self.new_user_ledgers(num_users) if self.accounting == "users" and num_users else None,
            draw=check_draw(draw),
            coins=new_coins(self),
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
                public=self.declared_public,
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
                public=self.declared_public,
                exact=self.exact,
                participation=self.participation,
                epoch=epoch_of(self.sampler) if self.accounting == "server" else None,
            ),
            reason=self.unproven,
        )

    def unit_sensitivity(self, adjacency: Adjacency) -> float:
        """How far one user with updates of norm at most 1 can move the aggregate."""
        sensitivity = self.aggregator.sensitivity(1.0, adjacency)
        assert sensitivity is not None  # checked when the algorithm was made
        return sensitivity
