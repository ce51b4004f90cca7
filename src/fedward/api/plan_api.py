"""``fedward.plan``: which noise, sampling, rounds and replicas to take for a wanted ε and k."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from fedward.api.saved_record import SavedRecord
from fedward.api.source import Changes, File, PathLike, console_for, source_from
from fedward.backends.compute import Compute
from fedward.base.validate import InvalidType, InvalidValue, rate
from fedward.certificates.pilot import Pilot
from fedward.certificates.plan_goal import Goal
from fedward.certificates.recommendation import Prospect
from fedward.certificates.threat import Attendance
from fedward.forecast.pilot_run import pilot_of_run
from fedward.forecast.pilot_trainings import PilotTrainings, changes_for, open_pilot
from fedward.forecast.plan import RATES, ROUNDS, Plan, make_plan
from fedward.privacy.group import Threat
from fedward.reports.pictures import plan_picture
from fedward.reports.pictures.picture import Picture
from fedward.reports.plan_words import certify_arguments, goal_in_words, plan_in_words
from fedward.reports.terminal.live import follow
from fedward.rundir.run_record import ReplicasRecord
from fedward.studies.progress import Progress

_CLASSES = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanRecord(SavedRecord, Plan):
    """A plan that says, draws and saves itself.

    Args:
      file: the experiment file that it was made with; empty without one.
    """

    file: str = ""

    def __repr__(self) -> str:
        return f"PlanRecord({self.words[0]})"

    @property
    def words(self) -> tuple[str, ...]:
        """The answer in sentences, the most important first."""
        return tuple(plan_in_words(self))

    @property
    def changes(self) -> dict[str, Any]:
        """The keys of an experiment file that make it the recommended training; empty without an answer."""
        answer = self.recommendation
        return {} if answer is None else changes_for(answer.prospect.option.noise)

    @property
    def command(self) -> str:
        """The command that trains and certifies the answer; empty without one."""
        arguments = certify_arguments(self)
        return shlex.join(("fedward", "certify", self.file or "FILE", *arguments)) if arguments else ""

    def plot(self, style: str = "screen") -> Picture:
        """The frontier, with a ring around the answer."""
        return plan_picture.picture(self, style)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each training of the frontier."""
        taken = None if self.recommendation is None else self.recommendation.prospect.option
        return [_row(each) | {"recommended": each.option == taken} for each in self.frontier]

    def to_json(self) -> dict[str, Any]:
        """Plain values, with all digits."""
        answer, low_high = self.recommendation, self.seconds
        found: dict[str, Any] | None = None
        if answer is not None:
            found = _row(answer.prospect) | {
                "clip_bound": self.clip_bound,
                "replicas": answer.replicas,
                "least_replicas": answer.least_replicas,
                "ceiling": answer.ceiling,
                "expected_k": answer.largest_k,
                "share_reached": answer.reached,
                "epsilon": answer.guarantee.epsilon,
                "guarantee": answer.guarantee.to_json(),
                "releasing_all": answer.releasing_all.to_json(),
                "seconds": None if low_high is None else {"low": low_high[0], "high": low_high[1]},
                "changes": self.changes,
                "command": self.command,
            }
        return {
            "goal": asdict(self.goal) | {"delta": self.goal.own_delta, "in_words": goal_in_words(self.goal)},
            "recommendation": found,
            "in_words": list(self.words),
            "frontier": self.rows(),
            "tried": self.tried,
            "predicts_accuracy": self.pilot is not None,
        }


def _row(prospect: Prospect) -> dict[str, Any]:
    noise, shares = prospect.option.noise, prospect.shares
    return {
        "noise_multiplier": noise.noise_multiplier,
        "sampling_rate": noise.sampling_rate,
        "rounds": noise.rounds,
        "cohort": noise.cohort,
        "noise_on_mean": noise.on_mean,
        "set_by": prospect.option.limited_by,
        "vote_needed": prospect.option.needed,
        "certified_at_least": None if shares is None else shares.cautious,
        "certified_expected": None if shares is None else shares.expected,
        "known_by": prospect.evidence,
    }


def plan(
    pilot: File | ReplicasRecord | None = None,
    *,
    k: int,
    users: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    threat: str = "inject",
    attendance: str = "drawn",
    share: float = 0.5,
    error: float = 0.01,
    classes: int | None = None,
    replicas: int | None = None,
    top: float | None = None,
    sampling_rates: Sequence[float] = RATES,
    rounds: Sequence[int] = ROUNDS,
    seconds: float = 30.0,
    changes: Changes = (),
    data: PathLike | None = None,
    compute: Compute | None = None,
    trust: bool = False,
    quiet: bool = False,
) -> PlanRecord:
    """One training to take for a wanted ε and k, why, and all others that would do: ``fedward plan``.

    Args:
      pilot: what accuracy is judged by: a run of ``fedward replicas`` or ``certify`` (its directory or its
        record), or an experiment (a file or its tables) that is trained for a short while. Without it
        accuracy is unknown.
      k: how many attackers must be survived.
      users: N; that of the pilot if not given.
      epsilon, delta: what one training may spend; δ is N^-1.1 if not given, at most 0.01.
      threat, attendance: as in ``fedward.certify``.
      share: of the test examples, how many should be right and certified.
      error: ψ, with which the certificate may fail.
      classes: how many classes there are; those of the pilot, else 10.
      replicas: M; chosen if not given.
      top: an expected vote that is assumed, in the place of a pilot.
      sampling_rates, rounds: q and T to try.
      seconds: how long pilot trainings may take, about.
      changes, data, compute, trust, quiet: as in ``fedward.train``.
    """
    if top is not None and not 0.5 < rate("top", top) < 1:
        raise InvalidValue(f"top must be above 0.5 and below 1, got {top:g}")
    with ExitStack() as stack:
        found, file = _open(stack, pilot, changes, data, compute, trust)
        goal = Goal(
            users=_users(users, found),
            k=k,
            epsilon=epsilon,
            delta=delta,
            threat=cast(Threat, threat),
            attendance=cast(Attendance, attendance),
            share=share,
            error=error,
            classes=_classes(classes, found),
            replicas=replicas,
        )
        steps = make_plan(
            goal, sampling_rates=sampling_rates, rounds=rounds, top=top, pilot=found, seconds=seconds
        )
        made = _follow(console_for(quiet), steps)
    values = {name: getattr(made, name) for name in Plan.__dataclass_fields__}
    return PlanRecord(**values, file=file)


def _open(
    stack: ExitStack,
    pilot: File | ReplicasRecord | None,
    changes: Changes,
    data: PathLike | None,
    compute: Compute | None,
    trust: bool,
) -> tuple[Pilot | PilotTrainings | None, str]:
    """The pilot, and the name of its experiment file if it is one."""
    if pilot is None:
        return None, ""
    if isinstance(pilot, ReplicasRecord):
        return pilot_of_run(pilot.path), ""
    if not isinstance(pilot, dict) and not isinstance(pilot, str | Path):
        raise InvalidType(
            "a pilot must be a run of fedward replicas or certify, an experiment file or its tables, got "
            f"{type(pilot).__name__}"
        )
    if not isinstance(pilot, dict) and Path(pilot).is_dir():
        return pilot_of_run(Path(pilot)), ""
    source = source_from(pilot, changes=changes, trust=trust)
    folder = None if data is None else Path(data)
    opened = stack.enter_context(open_pilot(source.content, source.name, folder, source.compute(compute)))
    return opened, "" if isinstance(pilot, dict) else str(pilot)


def _users(users: int | None, pilot: Pilot | PilotTrainings | None) -> int:
    if users is not None:
        return users
    if pilot is None:
        raise InvalidValue("users must be given where there is no pilot, got none")
    return pilot.users if isinstance(pilot, PilotTrainings) else pilot.noise.users


def _classes(classes: int | None, pilot: Pilot | PilotTrainings | None) -> int:
    own = None
    if pilot is not None:
        own = pilot.federation.num_classes if isinstance(pilot, PilotTrainings) else pilot.classes
    if classes is not None and own is not None and classes != own:
        raise InvalidValue(f"classes must be those of the pilot, {own}, got {classes}")
    return classes or own or _CLASSES


def _follow(console: Console, steps: Generator[Progress, None, Plan]) -> Plan:
    made: list[Plan] = []

    def kept() -> Iterator[Progress]:
        made.append((yield from steps))

    follow(console, kept(), lambda at: [at.name])
    return made[0]
