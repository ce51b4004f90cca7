"""Warnings that a person should read before an experiment is run: few, and only real ones."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.core.types import PrivateTrainer
from fedward.forecast.spending_forecast import Spending
from fedward.local import DPSGD
from fedward.privacy.rounding import delta_text, round_up_digits
from fedward.studies.training.setup import Setup

# Odds may change by e^10, 22,000 times: no such promise protects anybody.
_LARGE = 10.0
# So far from the declared batch the noise is out of all proportion.
_FAR_OFF = 2.0


def cautions(setup: Setup, spent: Spending) -> Iterator[str]:
    """One line for each thing."""
    guarantee, algorithm, federation = spent.guarantee, setup.algorithm, setup.federation
    if guarantee.private and not guarantee.proven:
        yield (
            "this ε is the papers' figure and not a guarantee: for cohorts of fixed size the true one may be "
            'twice as large. accountant = "rdp" has a proof'
        )
    if guarantee.private:
        hidden = federation.num_users if guarantee.unit == "user" else len(federation.examples)
        if guarantee.delta > 1 / hidden:
            yield (
                f"δ = {delta_text(guarantee.delta)} is larger than 1/{hidden:,}, one over the "
                f"{guarantee.unit}s: as far as δ goes, one {guarantee.unit} may be given away altogether"
            )
        if guarantee.unit == "user" and guarantee.adjacency == "zero-out":
            yield (
                f"the number of users is not declared: this ε takes it, {federation.num_users}, for public, "
                "and hides what a user contributes, not that it is counted. To hide both, and to certify "
                "against users who join, add the line "
                f"'users = {federation.num_users}' to the table [privacy]"
            )
        if guarantee.epsilon > _LARGE:
            yield f"ε = {round_up_digits(guarantee.epsilon)} is so large that it protects hardly anybody"
        if setup.caveat:
            yield setup.caveat
        if algorithm.noise_source == "seeded":
            yield (
                "noise is seeded: whoever knows the seed can take it away again. For data that really is "
                'private set noise_source = "system"'
            )
    elif isinstance(algorithm.local, PrivateTrainer):
        yield "users add noise, and yet there is no guarantee: see privacy"
    users = setup.experiment.privacy.users
    if users is not None and not users / _FAR_OFF <= federation.num_users <= users * _FAR_OFF:
        yield (
            f"there are {federation.num_users} users in the data, but {users} are declared: sums are divided "
            "by the declared share of these"
        )
    if isinstance(algorithm.local, DPSGD):
        declared = algorithm.local.expected_batch
        drawn = algorithm.local.probability * float(federation.sizes.double().mean())
        if not declared / _FAR_OFF <= drawn <= declared * _FAR_OFF:
            yield (
                f"batches are expected to hold {drawn:.3g} examples, but expected_batch, which sums are "
                f"divided by, is declared as {declared:g}"
            )
    if federation.test is None:
        yield "there are no test examples: nothing will be measured"
    if setup.attack is not None:
        yield from setup.attack.notes
