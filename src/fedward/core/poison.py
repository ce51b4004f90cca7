"""The data that an adversary's users train on: a step of simulations."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fedward.base.randomness import stream
from fedward.core.adversary import InformedAdversary
from fedward.core.federation import Federation
from fedward.core.types import Adversary
from fedward.core.values import Job, Plan


def poison_data(plan: Plan, federation: Federation, seed: int) -> Plan:
    """The plan with the data that the adversary's users train on instead of their own.

    A simulation has everybody's data and plays these users too. A real federation's server goes without this
    step: it has no data, and malicious users poison theirs where they are.
    """
    adversary, moved = plan.adversary, None
    theirs = [] if adversary is None else [job for job in plan.jobs if job.user in adversary.users]
    if adversary is None or not theirs:
        return plan
    if isinstance(adversary, InformedAdversary):
        parameters = theirs[0].parameters
        moved = None if plan.previous is None else parameters.double() - plan.previous.double()
        adversary = adversary.at_model(plan.round, parameters)
    jobs = (
        _poisoned(job, adversary, federation, plan.round, seed, moved) if job.user in adversary.users else job
        for job in plan.jobs
    )
    return replace(plan, jobs=tuple(jobs))


def _poisoned(
    job: Job, adversary: Adversary, federation: Federation, t: int, seed: int, moved: Tensor | None
) -> Job:
    # It gets a copy: what it writes there does not come back in later rounds or other trainings.
    own = federation.user(job.user).select(torch.arange(job.num_examples))
    if isinstance(adversary, InformedAdversary):
        again = stream(seed, "poisoning", user=job.user)
        job = replace(job, trainer=adversary.brief(job.trainer, job.user, own, t, again, moved))
    # Bad data is data: it differs neither by round nor by replica, so that equal jobs stay equal, unless it
    # follows the model, which is part of the job.
    poisoned = adversary.poison(job.user, own, t, stream(seed, "poisoning", user=job.user))
    if poisoned is None:
        return job
    version, examples = poisoned
    return replace(job, version=version, examples=examples)
