"""``fedward epsilon`` and ``fedward calibrate``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from typer import Option

from fedward.base.validate import InvalidValue
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, require_option, take_one


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The noise and sampling of a training, and how its ε is worked out."""

    delta: Annotated[float, Option(help="δ.")]
    rounds: Annotated[int | None, Option(help="T: how many rounds.")] = None
    steps: Annotated[int | None, Option(hidden=True)] = None  # the name that --rounds had
    noise_multiplier: Annotated[float | None, Option(help="z, the papers' σ: noise over clip bound.")] = None
    sampling_rate: Annotated[float | None, Option(help="q: Poisson sampling; 1 is everyone.")] = None
    cohort_size: Annotated[int | None, Option(help="m: exactly m users, with --users.")] = None
    users: Annotated[int | None, Option(help="N, for --cohort-size.")] = None
    epoch: Annotated[int | None, Option(help="E: each user in one random round of every E.")] = None
    accountant: Annotated[str, Option(help="moments (the papers'), rdp or pld.")] = "pld"
    noise_source: Annotated[str | None, Option(help="Where the noise will come from: seeded or system.")] = (
        None
    )

    def __post_init__(self) -> None:
        if self.steps is not None:
            object.__setattr__(self, "rounds", take_one("--rounds", self.rounds, "--steps", self.steps))

    def numbers(self) -> dict[str, Any]:
        """The arguments of ``fedward.epsilon`` and ``fedward.calibrate``."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "steps"}

    def require_sampling(self) -> None:
        """Refuses, in the words of the command line, cohorts that are described twice or not at all."""
        ways = {
            "--sampling-rate": self.sampling_rate,
            "--cohort-size": self.cohort_size,
            "--epoch": self.epoch,
        }
        given = [option for option, value in ways.items() if value is not None]
        if len(given) != 1:
            raise InvalidValue("give one of --sampling-rate, --epoch, and --cohort-size with --users")
        if self.cohort_size is None and self.users is not None:
            raise InvalidValue(f"--users belongs to --cohort-size, got it with {given[0]}")
        if self.cohort_size is not None:
            require_option("--users", self.users)


@grouped
def epsilon(
    asked: Asked,
    looks: Annotated[int, Option(help="In how many rounds the clip policy looks at norms.")] = 0,
    look_noise: Annotated[float | None, Option(help="Noise multiplier of a look.")] = None,
    devices_per_person: Annotated[int, Option(help="k: how many users one person may be.")] = 1,
    as_json: AsJson = False,
) -> None:
    """What a training with this noise and sampling spends."""
    asked.require_sampling()
    require_option("--noise-multiplier", asked.noise_multiplier)
    require_option("--rounds", asked.rounds)
    if look_noise is not None and not looks:
        raise InvalidValue("--look-noise belongs to --looks, got it without")
    if looks:
        require_option("--look-noise", look_noise)
    from fedward.api import privacy_api

    found = privacy_api.epsilon(
        **asked.numbers(), looks=looks, look_noise=look_noise, devices_per_person=devices_per_person
    )
    answer(as_json, found.to_json(), *found.words)


@grouped
def calibrate(
    epsilon: Annotated[float, Option(help="ε that may be spent.")],
    asked: Asked,
    as_json: AsJson = False,
) -> None:
    """The least noise for a number of rounds, or the most rounds for a noise, within ε."""
    asked.require_sampling()
    if (asked.rounds is None) == (asked.noise_multiplier is None):
        raise InvalidValue("give either --rounds, to get the noise, or --noise-multiplier, to get the rounds")
    from fedward.api import privacy_api

    found = privacy_api.calibrate(epsilon=epsilon, **asked.numbers())
    answer(as_json, found.to_json(), *found.words)
