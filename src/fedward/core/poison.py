"""The data that an adversary's users train on: a step of simulations."""

from __future__ import annotations

from dataclasses import replace

import torch

from fedward.base.randomness import stream
from fedward.core.adversary import Adversary
from fedward.core.federation import Federation
from fedward.core.values import Job, Plan


def poison_data(plan: Plan, federation: Federation, seed: int) -> Plan:
    """The plan with the data that the adversary's users train on instead of their own.

    A simulation has everybody's data and plays these users too. A real federation's server goes without this
    step: it has no data, and malicious users poison theirs where they are.
    """
    adversary = plan.adversary
    if adversary is None:
        return plan
    jobs = (
        _poisoned(job, adversary, federation, plan.round, seed) if job.user in adversary.users else job
        for job in plan.jobs
    )
    return replace(plan, jobs=tuple(jobs))


def _poisoned(job: Job, adversary: Adversary, federation: Federation, t: int, seed: int) -> Job:
    # It gets a copy: what it writes there does not come back in later rounds or other trainings.
    own = federation.user(job.user).select(torch.arange(job.num_examples))
    # Bad data is data: it differs neither by round nor by replica, so that equal jobs stay equal.
    poisoned = adversary.poison(job.user, own, t, stream(seed, "poisoning", user=job.user))
    if poisoned is None:
        return job
    version, examples = poisoned
    return replace(job, version=version, examples=examples)
