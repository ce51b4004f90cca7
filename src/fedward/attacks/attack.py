"""An attack: who, with what data, with what updates, when, and knowing what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from fedward.attacks.attack_goal import Goal, split_test
from fedward.attacks.attack_notes import notes_on
from fedward.attacks.attack_types import Adaptive, ModelPoisoning, Poisoning, Who
from fedward.attacks.attacker import Attacker
from fedward.attacks.declared import check_declared
from fedward.attacks.model_poisoning import MODEL_POISONINGS
from fedward.attacks.poisoning import POISONINGS
from fedward.attacks.poisoning.portion import fingerprint
from fedward.attacks.poisoning.unprepared import Unfitted, Unprepared, ready
from fedward.attacks.staged_cohort import StagedCohort
from fedward.attacks.who import NamedUsers, PerCohort
from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue, one_of, open_unit, whole
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.types import Knowledge

KNOWLEDGE: dict[str, str] = {
    "own": "their own data and rows",
    "cohort": "the cohort and all honest rows",
}
"""The knowledge that attackers may have, in words. Nobody ever sees noise."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Staged:
    """A training under attack, ready to run: give all of it to ``fedward.train``.

    ``federation`` differs from the clean one where a natural backdoor is held out of honest users;
    ``algorithm`` where every cohort has an exact number of attackers. ``goal`` is None without test data.
    """

    federation: Federation
    algorithm: Algorithm
    adversary: Attacker
    goal: Goal | None
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Some users poison their data, their updates, or both, always or in chosen rounds.

    Args:
      who: which users attack.
      data: poisonings of their data, carried out one after the other: each sees the labels that the ones
        before it have left.
      model: poisonings of their updates, carried out one after the other; one that reads other rows than the
        attacker's own comes first.
      knowledge: ``own`` (their data and their rows) or ``cohort`` (also who is in the cohort and all honest
        rows). A part that needs more is refused; a part that needs less sees what is allowed here. Noise is
        never seen.
      rounds: in which rounds they attack, counted from 0; None for all. In others they behave.
      test_share: of the test examples, on which triggers are tried; the rest measure the main task. A
        natural backdoor has its own test examples.

    >>> from fedward.attacks.model_poisoning import Scale
    >>> from fedward.attacks.poisoning import SinglePixel
    >>> from fedward.attacks.who import RandomUsers
    >>> attack = Attack(who=RandomUsers(count=20), data=(SinglePixel(),), model=(Scale(factor=50.0),))
    >>> attack.knowledge, attack.rounds
    ('own', None)

    ``staged = attack.stage(algorithm, federation, seed=1)`` then gives all that ``fedward.train`` needs.
    """

    who: Who
    data: tuple[Poisoning | Unprepared, ...] = ()
    model: tuple[ModelPoisoning, ...] = ()
    knowledge: Knowledge = "own"
    rounds: tuple[int, ...] | None = None
    test_share: float = 0.2

    def __post_init__(self) -> None:
        one_of("knowledge", self.knowledge, KNOWLEDGE)
        open_unit("share of triggered test examples", self.test_share)
        if not hasattr(self.who, "choose"):
            raise InvalidType(f"who must say which users attack, got {self.who!r}")
        for name, parts, methods in (
            ("data", self.data, ("poison", "prepared")),
            ("model", self.model, ("tamper",)),
        ):
            if not isinstance(parts, tuple) or not all(
                any(hasattr(part, method) for method in methods) for part in parts
            ):
                raise InvalidType(f"{name} must be a tuple of {name} poisonings, got {parts!r}")
        if not self.data and not self.model:
            raise InvalidValue("an attack needs a poisoning of data or of updates, got neither")
        for part in self.model:
            check_declared(part)
            if part.needs == "cohort" and self.knowledge == "own":
                raise InvalidValue(
                    f"{part} needs to know {KNOWLEDGE['cohort']}, but knowledge = 'own' says that attackers "
                    f"know {KNOWLEDGE['own']} only"
                )
        for part in self.model[1:]:
            if part.conduct.needs_all_rows:
                raise InvalidValue(
                    f"{part} reads rows as they were trained, so it must come first among the poisonings of "
                    f"updates, got it after {self.model[0]}"
                )
        for part in self.model[1:]:
            if part.conduct.discards_update:
                raise InvalidValue(
                    f"{part} throws away what came before it, so it must come first among the poisonings of "
                    f"updates, got it after {self.model[0]}"
                )
        own_ways = [part for part in self.model if part.conduct.trains_its_own_way]
        if len(own_ways) > 1:
            raise InvalidValue(
                f"attackers can train in one way of their own, got {own_ways[0]} and {own_ways[1]}"
            )
        if self.rounds is not None:
            if not isinstance(self.rounds, tuple):
                raise InvalidType(f"rounds of the attack must be a tuple of rounds, got {self.rounds!r}")
            for round in self.rounds:
                whole("round of the attack", round, at_least=0)
            if not self.rounds or len(set(self.rounds)) < len(self.rounds):
                raise InvalidValue(
                    f"rounds of the attack must be one or more different ones, got {list(self.rounds)}"
                )

        if self.staged_when_attacked and self.rounds is None:
            raise InvalidValue(
                "attackers in every cohort of the attacked rounds only need the rounds of the attack, got "
                "none: give rounds, or leave attacked_rounds_only out"
            )

    @property
    def adapts(self) -> bool:
        """Whether it knows the defence: what a defence withstands from others says little about it."""
        return any(part.conduct.adapts for part in self.model)

    @property
    def staged_when_attacked(self) -> bool:
        """Whether cohorts have an exact number of attackers in the attacked rounds, and in no others."""
        return isinstance(self.who, PerCohort) and self.who.attacked_rounds_only is True

    def users(self, federation: Federation, seed: int) -> frozenset[int]:
        """The users that attack."""
        return self.who.choose(federation, stream(seed, "attackers"))

    def stage(
        self, algorithm: Algorithm, federation: Federation, seed: int, model: nn.Module | None = None
    ) -> Staged:
        """Checks the attack against data and algorithm, chooses its users and hands out what they hold.

        Only a trigger that is fitted to the model needs the ``model``, whose parameters do not matter.
        """
        users = self._spare_root(self.users(federation, seed), algorithm.root_user, federation)
        for poisoning in self.data:
            poisoning.check(federation, len(users))
        named = [(name, ready(part, federation)) for name, part in _name_each(self.data)]
        handed_out = self._hand_out(federation, tuple(part for _, part in named), users, seed)
        named = [(name, _fitted(part, handed_out, users, model)) for name, part in named]
        data = tuple(part for _, part in named)
        self._check_each_does_something(handed_out, named, users, seed)
        algorithm = self._void_guarantee(self._stage_cohorts(algorithm, federation, users), users)
        algorithm = replace(algorithm, handed_out=_count_taken_from_honest(federation, data, users))
        tampering = tuple(
            part.against(algorithm.aggregator) if isinstance(part, Adaptive) else part for part in self.model
        )
        goal = None
        if federation.test is not None:
            rng = stream(seed, "test split")
            goal = split_test(federation.test, named, self.test_share, rng)
        return Staged(
            federation=handed_out,
            algorithm=algorithm,
            adversary=Attacker(
                users=users,
                knowledge=self.knowledge,
                rounds=self.rounds,
                data=data,
                model=tampering,
                per_cohort=self.who.per_cohort,
            ),
            goal=goal,
            notes=notes_on(self, algorithm),
        )

    def _spare_root(self, users: frozenset[int], root: int | None, federation: Federation) -> frozenset[int]:
        """The attackers, with another user in the place of the server's own, which attacks nobody."""
        if root is None or root not in users:
            return users
        others = (user for user in range(federation.num_users) if user != root and user not in users)
        stand_in = next(others, None)
        if isinstance(self.who, NamedUsers) or stand_in is None:
            raise InvalidValue(
                f"user {federation.names[root]} is the server's own (its data are the root data set) and "
                "cannot attack; name another user, or another root"
            )
        return users - {root} | {stand_in}

    def _stage_cohorts(
        self, algorithm: Algorithm, federation: Federation, users: frozenset[int]
    ) -> Algorithm:
        if self.who.per_cohort is None:
            return algorithm
        sampler = StagedCohort(
            sampler=algorithm.sampler,
            attackers=tuple(sorted(users)),
            each=self.who.per_cohort,
            rounds=self.rounds if self.staged_when_attacked else None,
        )
        sampler.check(federation.num_users)
        return replace(algorithm, sampler=sampler)

    def _void_guarantee(self, algorithm: Algorithm, users: frozenset[int]) -> Algorithm:
        """The algorithm without the guarantee that these attackers take away."""
        if not users:
            return algorithm
        if algorithm.accounting == "users":
            return replace(algorithm, deviating=True) if self.model else algorithm
        if algorithm.accounting == "aggregate":
            # Even if they add it: they know it, so towards them there is less.
            return replace(
                algorithm, void="attackers know or leave out the noise that the guarantee counts on"
            )
        if self.knowledge == "cohort" and not algorithm.unproven:
            # Their rows may depend on an honest user's, who then moves the mean by more than its own row.
            return replace(
                algorithm, void="attackers are shown all honest updates and may pass on what they see there"
            )
        return algorithm

    def _check_each_does_something(
        self, federation: Federation, named: list[tuple[str, Poisoning]], users: frozenset[int], seed: int
    ) -> None:
        """Refuses a poisoning whose examples another one takes: nobody would notice that it is missing."""
        if len(named) < 2 or not users:
            return
        data = tuple(part for _, part in named)
        whole = self._poisoning_fingerprints(data, federation, users, seed)
        for place, (name, part) in enumerate(named):
            others = data[:place] + data[place + 1 :]
            if part.fraction > 0 and self._poisoning_fingerprints(others, federation, users, seed) == whole:
                raise InvalidValue(
                    f"{name} would change nothing: another poisoning takes all examples that it could take; "
                    "give that one a fraction below 1"
                )

    def _poisoning_fingerprints(
        self, parts: tuple[Poisoning, ...], federation: Federation, users: frozenset[int], seed: int
    ) -> list[str]:
        """A fingerprint of what each attacker would train on."""
        attacker = Attacker(users=users, knowledge="own", rounds=None, data=parts, model=())
        found = []
        for user in sorted(users):
            examples = federation.user(user)
            bad = attacker.poison(user, examples, 0, stream(seed, "poisoning", user=user))
            found.append(fingerprint(examples if bad is None else bad[1]))
        return found

    def _hand_out(
        self, federation: Federation, data: tuple[Poisoning, ...], users: frozenset[int], seed: int
    ) -> Federation:
        """The federation in which only attackers own what is held out of honest users."""
        held_out = _mask_held_out(federation, data)
        if not bool(held_out.any()) or not users:
            return federation
        owner = _owners(federation).numpy()
        rng = stream(seed, "poisoning")
        owner[held_out.numpy()] = rng.choice(sorted(users), size=int(held_out.sum()))
        left = np.bincount(owner, minlength=federation.num_users)
        if not left.all():
            raise InvalidValue(
                f"user {federation.names[left.argmin()]} would own no example: all that it owns are held out "
                "of honest users"
            )
        examples = federation.examples
        return Federation.from_arrays(
            examples.x,
            examples.y,
            federation.names[owner],
            test=federation.test,
            num_classes=federation.num_classes,
            names=federation.names,
            vocabulary=federation.vocabulary,
            class_names=federation.class_names,
            copy=False,
        )


def _fitted(
    poisoning: Poisoning, federation: Federation, users: frozenset[int], model: nn.Module | None
) -> Poisoning:
    """The poisoning that can fit its trigger on what all attackers own, where its trigger is fitted."""
    if not isinstance(poisoning, Unfitted):
        return poisoning
    if model is None:
        raise InvalidValue(f"{poisoning} is fitted to the model: give Attack.stage the model as well")
    owned = torch.isin(_owners(federation), torch.tensor(sorted(users), dtype=torch.int64))
    return poisoning.fitted_by(model, federation.examples.select(torch.nonzero(owned).flatten()))


def _mask_held_out(federation: Federation, data: tuple[Poisoning, ...]) -> Tensor:
    """Which examples (a bool each) no honest user may own."""
    held_out = torch.zeros(len(federation.examples), dtype=torch.bool)
    for poisoning in data:
        held_out |= poisoning.held_out(federation.examples)
    return held_out


def _owners(federation: Federation) -> Tensor:
    """The user of each example."""
    return torch.repeat_interleave(torch.arange(federation.num_users), federation.sizes)


def _count_taken_from_honest(
    federation: Federation, data: tuple[Poisoning, ...], users: frozenset[int]
) -> int:
    """How many examples of honest users a natural backdoor hands to the attackers."""
    if not users:
        return 0
    attackers = torch.tensor(sorted(users))
    return int((_mask_held_out(federation, data) & ~torch.isin(_owners(federation), attackers)).sum())


def _name_each(poisonings: tuple[Poisoning | Unprepared, ...]) -> list[tuple[str, Poisoning | Unprepared]]:
    """Each poisoning with its name in experiment files, numbered where a name comes twice."""
    known = {part: name for name, part in (POISONINGS | MODEL_POISONINGS).items()}
    names = [known.get(type(part), type(part).__name__) for part in poisonings]
    total, seen = Counter(names), Counter[str]()
    named = []
    for name, part in zip(names, poisonings, strict=True):
        seen[name] += 1
        named.append((name if total[name] == 1 else f"{name} {seen[name]}", part))
    return named
