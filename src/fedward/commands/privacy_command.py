"""``fedward epsilon`` and ``fedward calibrate``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, cast

import typer
from dp_accounting import DpEvent

from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidValue, one_of, positive, whole
from fedward.clipping import Quantile
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, require_option
from fedward.core.algorithm import Algorithm
from fedward.core.types import Sampler
from fedward.local import FullGradient
from fedward.presets import user_dp_fedavg
from fedward.privacy import ACCOUNTANTS, Guarantee, Ledger, noise_for, rounds_for
from fedward.privacy.shares import shares
from fedward.privacy.terms import SERVER
from fedward.sampling import FixedSizeSampler, PoissonSampler


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The noise and sampling of a training, and how its ε is worked out."""

    delta: Annotated[float, typer.Option("--delta", help="δ.")]
    steps: Annotated[int | None, typer.Option("--steps", help="T: how many rounds.")] = None
    noise_multiplier: Annotated[
        float | None, typer.Option("--noise-multiplier", help="z, the papers' σ: noise over clip bound.")
    ] = None
    sampling_rate: Annotated[
        float | None, typer.Option("--sampling-rate", help="q: Poisson sampling; 1 is everyone.")
    ] = None
    cohort_size: Annotated[
        int | None, typer.Option("--cohort-size", help="m: exactly m users, with --users.")
    ] = None
    users: Annotated[int | None, typer.Option("--users", help="N, for --cohort-size.")] = None
    accountant: Annotated[str, typer.Option("--accountant", help="moments (the papers'), rdp or pld.")] = (
        "pld"
    )
    noise_source: Annotated[
        str | None, typer.Option("--noise-source", help="Where the noise will come from: seeded or system.")
    ] = None

    def sampler(self) -> tuple[Sampler, int]:
        """The sampler that is described, and the number of users."""
        if (self.sampling_rate is None) == (self.cohort_size is None):
            raise InvalidValue("give either --sampling-rate, or --cohort-size with --users")
        if self.sampling_rate is not None:
            if self.users is not None:
                raise InvalidValue("--users belongs to --cohort-size, got it with --sampling-rate")
            return PoissonSampler(rate=self.sampling_rate), 1
        num_users = whole("users", require_option("--users", self.users))
        sampler = FixedSizeSampler(size=require_option("--cohort-size", self.cohort_size))
        sampler.check(num_users)
        return sampler, num_users

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """What a training that was not run spends: where noise comes from is said only if that was told."""
        if self.noise_source is not None:
            one_of("noise source", self.noise_source, SOURCES)
        found = ledger.guarantee(self.delta, self.accountant)
        return replace(found, noise_source=cast(Source | None, self.noise_source))


@grouped
def epsilon(
    asked: Asked,
    looks: Annotated[
        int, typer.Option("--looks", help="In how many rounds the clip policy looks at norms.")
    ] = 0,
    look_noise: Annotated[
        float | None, typer.Option("--look-noise", help="Noise multiplier of a look.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a training with this noise and sampling spends."""
    sampler, num_users = asked.sampler()
    z = positive("noise multiplier", require_option("--noise-multiplier", asked.noise_multiplier))
    rounds = whole("steps", require_option("--steps", asked.steps))
    if look_noise is not None and not looks:
        raise InvalidValue("--look-noise belongs to --looks, got it without")
    one_of("accountant", asked.accountant, ACCOUNTANTS)
    spent = _ledger(sampler, num_users, z, rounds, looks, look_noise)
    guarantee, parts = asked.guarantee(spent), shares(spent, asked.delta, asked.accountant)
    content, lines = guarantee.to_json(), [str(guarantee)]
    if parts is not None:
        content |= parts.to_json()
        lines += [str(parts)] + [parts.as_the_papers_add] * (asked.accountant == "moments")
    answer(as_json, content, "\n".join(lines))


@grouped
def calibrate(
    epsilon: Annotated[float, typer.Option("--epsilon", help="ε that may be spent.")],
    asked: Asked,
    as_json: AsJson = False,
) -> None:
    """The least noise for a number of steps, or the most steps for a noise, within ε."""
    sampler, num_users = asked.sampler()
    delta, accountant = asked.delta, one_of("accountant", asked.accountant, ACCOUNTANTS)
    if (asked.steps is None) == (asked.noise_multiplier is None):
        raise InvalidValue("give either --steps, to get the noise, or --noise-multiplier, to get the steps")

    def event(z: float) -> DpEvent:
        return _algorithm(sampler, num_users, z).round_event(num_users, 0)

    if asked.noise_multiplier is None:
        rounds = whole("steps", require_option("--steps", asked.steps))
        z = noise_for(epsilon, delta, event, rounds, accountant, sampler.adjacency)
        z = math.ceil(z * 1e4) / 1e4  # what is printed must hold too
        wanted = f"noise multiplier {z:.4f} for {rounds} steps"
    else:
        z = positive("noise multiplier", asked.noise_multiplier)
        rounds = rounds_for(epsilon, delta, event(z), accountant, sampler.adjacency)
        wanted = f"{rounds} steps with noise multiplier {z:g}"
    guarantee = asked.guarantee(_ledger(sampler, num_users, z, rounds))
    content = guarantee.to_json() | {"noise_multiplier": z, "steps": rounds, "target_epsilon": epsilon}
    answer(as_json, content, f"{wanted}\n{guarantee}")


def _ledger(
    sampler: Sampler,
    num_users: int,
    noise_multiplier: float,
    rounds: int,
    looks: int = 0,
    look_noise: float | None = None,
) -> Ledger:
    """The ledger of a training in which the clip policy looks at private norms in some of the rounds."""
    if whole("looks", looks, at_least=0) > rounds:
        raise InvalidValue(f"looks must be at most the steps, {rounds}, got {looks}")
    algorithm = _algorithm(sampler, num_users, noise_multiplier)
    # No sum is divided here: the divisor would be that of the one user that stands for all.
    ledger = replace(algorithm.new_ledger(), terms=SERVER)
    if looks:
        # Of all policies the one whose look a replaced user moves furthest: it holds for the others too.
        noise = positive("look noise", require_option("--look-noise", look_noise))
        policy = Quantile(initial=1.0, quantile=0.5, bit_noise=noise / 2, expected_cohort=1.0)
        ledger = ledger.charged(replace(algorithm, policy=policy).round_event(num_users, 0), looks)
    if rounds > looks:
        ledger = ledger.charged(algorithm.round_event(num_users, 0), rounds - looks)
    return ledger


def _algorithm(sampler: Sampler, num_users: int, noise_multiplier: float) -> Algorithm:
    """What is accounted for: a noisy mean of clipped updates. Its bound and local training do not matter."""
    return user_dp_fedavg(
        num_users=num_users,
        sampler=sampler,
        local=FullGradient(),
        clip_bound=1.0,
        noise_multiplier=noise_multiplier,
    )
