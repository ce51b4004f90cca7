"""A sentence on how cohorts and batches were drawn, made from a ledger's events and terms alone."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.privacy import accounting_events as dp
from fedward.privacy.participation import Participation
from fedward.privacy.spending import Spending, mechanisms, non_private
from fedward.privacy.terms import ExactAttackers, Terms

NOT_ACCOUNTED, NOTHING = "not accounted for", "nothing charged"
EVERYONE = "everyone in every round"
LOOKS_ONLY = "looks at norms only"
LOOKS_INCLUDED = "the server's looks at norms included"
DEVIATING = "attackers need not follow the local protocol"
PUBLIC_SIZES = "data sizes public"
ONE_RELEASE = "one clipped gradient with noise at the user"
WHOLE_COHORT = "noise of the whole cohort"


def sampling_in_words(spending: Spending, terms: Terms) -> str:
    """The part of a guarantee about sampling; equal events and terms give equal words.

    >>> from fedward.privacy.terms import Terms
    >>> event = dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(3.0))
    >>> sampling_in_words([(event, 3)], Terms())
    'Poisson sampling q = 0.1'
    >>> sampling_in_words([(dp.SelfComposedDpEvent(event, 5), 3)], Terms(noise_of="user", public_sizes=True))
    'DP-SGD at the user, batches p = 0.1, 5 steps a round, data sizes public'
    """
    name = _words_on_drawing if terms.noise_of in ("server", "looks") else _words_on_users
    # In the order in which they were first charged, each once.
    kinds = dict.fromkeys(words for event, _ in spending for words in name(event, terms))
    drawn = " and ".join(kinds) or (NOT_ACCOUNTED if non_private(mechanisms(spending)) else NOTHING)
    return ", ".join(filter(None, (_prefix(terms), drawn, *_suffixes(terms))))


def staged_in_words(staged: ExactAttackers) -> str:
    """What a guarantee says of cohorts with an exact number of attackers."""
    cohorts = "every cohort of the attacked rounds" if staged.attacked_rounds_only else "every cohort"
    return (
        f"staged with exactly {staged.each} of {staged.attackers} attackers in {cohorts} "
        "(outside the sampling of certificates)"
    )


def _prefix(terms: Terms) -> str:
    return LOOKS_ONLY if terms.noise_of == "looks" else ""


def _suffixes(terms: Terms) -> Iterator[str]:
    if terms.public_sizes:
        yield PUBLIC_SIZES
    if terms.staged is not None:
        yield staged_in_words(terms.staged)
    if terms.deviating:
        yield DEVIATING
    if terms.looks:
        yield LOOKS_INCLUDED


def _words_on_drawing(event: dp.DpEvent, terms: Terms) -> Iterator[str]:
    """How a cohort is drawn that the server adds noise about."""
    if terms.participation is not None:
        yield from _words_on_schema(event, terms.participation)
    elif isinstance(event, dp.PoissonSampledDpEvent):
        yield f"Poisson sampling q = {event.sampling_probability:g}"
    elif isinstance(event, dp.SampledWithoutReplacementDpEvent):
        yield f"fixed-size sampling m = {event.sample_size}"
    elif isinstance(event, dp.RandomAllocationDpEvent):
        yield f"each user in one random round of every {event.epoch:,}"
    elif isinstance(event, dp.SelfComposedDpEvent):
        yield from _words_on_drawing(event.event, terms)
    elif isinstance(event, dp.ComposedDpEvent):
        for part in event.events:
            yield from _words_on_drawing(part, terms)
    elif not isinstance(event, dp.NoOpDpEvent | dp.NonPrivateDpEvent):
        yield EVERYONE


def _words_on_schema(event: dp.DpEvent, schema: Participation) -> Iterator[str]:
    """What the server keeps users to, and with which probability it draws them of their group."""
    if isinstance(event, dp.NoOpDpEvent | dp.NonPrivateDpEvent):
        return
    inner = event.event if isinstance(event, dp.SelfComposedDpEvent) else event
    drawn = isinstance(inner, dp.PoissonSampledDpEvent)
    yield f"{schema}" + (f", drawn of their group with q = {inner.sampling_probability:g}" if drawn else "")


def _words_on_users(event: dp.DpEvent, terms: Terms) -> Iterator[str]:
    """What a user does that protects itself; the first part of a composition, the others are looks."""
    if isinstance(event, dp.ComposedDpEvent):
        yield from _words_on_users(event.events[0], terms)
        return
    if isinstance(event, dp.NoOpDpEvent | dp.NonPrivateDpEvent):
        return
    steps = 1
    if isinstance(event, dp.SelfComposedDpEvent):
        event, steps = event.event, event.count
    if isinstance(event, dp.PoissonSampledDpEvent):
        p = event.sampling_probability / (terms.claimed_rate or 1.0)
        own = f"DP-SGD at the user, batches p = {p:g}, {steps} step{'' if steps == 1 else 's'} a round"
    else:
        assert isinstance(event, dp.GaussianDpEvent)
        own = ONE_RELEASE
    yield own + _words_on_cohort(terms)


def _words_on_cohort(terms: Terms) -> str:
    if terms.noise_of != "cohort":
        return ""
    if terms.claimed_rate is not None:
        return f"; probability p q, q = {terms.claimed_rate:g}, {WHOLE_COHORT}"
    return f"; {WHOLE_COHORT}" + ("" if terms.cohort is None else f", m = {terms.cohort:g}")
