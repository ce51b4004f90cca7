"""The sentences about sampling in files of version 1, read once, where such a file is opened.

Version 1 wrote how users are drawn and protected as one sentence. Here, and nowhere else, it becomes the
typed ``Terms`` of today; a sentence that fedward cannot have written is refused.
"""

from __future__ import annotations

import re
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.privacy.sampling_words import (
    DEVIATING,
    EVERYONE,
    LOOKS_INCLUDED,
    LOOKS_ONLY,
    NOT_ACCOUNTED,
    ONE_RELEASE,
    PUBLIC_SIZES,
    WHOLE_COHORT,
    sampling_in_words,
)
from fedward.privacy.spending import Spending, mechanisms, non_private
from fedward.privacy.terms import ExactAttackers, Terms

PAPERS_SAMPLING = "the paper's accounting: it assumes Poisson sampling, the cohort was drawn at fixed size"

_NUMBER = r"[0-9.e+-]+"
_DRAWN = rf"(?:Poisson sampling q = {_NUMBER}|fixed-size sampling m = [0-9]+|{EVERYONE})"
_STAGED = (
    r"(?:, staged with exactly (?P<each>[0-9]+) of (?P<attackers>[0-9]+) attackers in every cohort "
    r"\(outside the sampling of certificates\))?"
)
_OWN = rf"(?:DP-SGD at the user, batches p = {_NUMBER}, [0-9]+ steps? a round|{ONE_RELEASE})"
_FORMS = (
    re.compile(rf"(?P<looks_only>{LOOKS_ONLY}, )?(?P<drawn>{_DRAWN}){_STAGED}"),
    re.compile(rf"(?P<own>{_OWN}); {WHOLE_COHORT}, (?P<drawn>{_DRAWN}){_STAGED}"),
    re.compile(rf"(?P<own>{_OWN}); probability p q, q = (?P<q>{_NUMBER}), {WHOLE_COHORT}"),
    re.compile(
        rf"(?P<own>{_OWN})(?P<public>, {PUBLIC_SIZES})?(?:, {_DRAWN}(?={re.escape(', staged')}){_STAGED})?"
        rf"(?P<deviating>, {DEVIATING})?(?P<looks>, {re.escape(LOOKS_INCLUDED)})?"
    ),
)


def terms_of(words: Any) -> Terms:
    """The terms that a sentence of version 1 states. The divisor is unknown: it did not say.

    >>> terms_of("Poisson sampling q = 0.1, staged with exactly 2 of 4 attackers in every cohort "
    ...          "(outside the sampling of certificates)").staged
    ExactAttackers(each=2, attackers=4, attacked_rounds_only=False)
    >>> terms_of("by the moon")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: sampling must be one that fedward 0.1 wrote, got 'by the moon'
    """
    found = None
    if isinstance(words, str):
        found = next(filter(None, (form.fullmatch(words) for form in _FORMS)), None)
    if found is None:
        raise InvalidValue(f"sampling must be one that fedward 0.1 wrote, got {words!r}")
    said = found.groupdict()
    staged = None
    if said.get("each") is not None:
        staged = ExactAttackers(each=int(said["each"]), attackers=int(said["attackers"]))
    if WHOLE_COHORT in found.re.pattern:
        rate = said.get("q")
        return Terms(noise_of="cohort", staged=staged, claimed_rate=None if rate is None else float(rate))
    if "own" in said:
        return Terms(
            noise_of="user",
            staged=staged,
            public_sizes=said["public"] is not None,
            deviating=said["deviating"] is not None,
            looks=said["looks"] is not None,
        )
    return Terms(noise_of="looks" if said["looks_only"] else "server", staged=staged)


def check_words(words: str, spending: Spending, terms: Terms) -> None:
    """Refuses a sentence of version 1 about other sampling than its events are."""
    parts = mechanisms(spending)
    if not parts or non_private(parts):
        return  # nothing was accounted for, and so nothing can be compared
    told = sampling_in_words(spending, terms)
    if _comparable(told, terms) != _comparable(words, terms):
        raise InvalidValue(f"sampling must be that of the events, {told!r}, got {words!r}")


def _comparable(words: str, terms: Terms) -> str:
    """The words without what version 1 said in addition, or said of other users."""
    words = words.replace("Poisson sampling q = 1,", EVERYONE + ",")
    words = EVERYONE if words == "Poisson sampling q = 1" else words
    if terms.noise_of == "cohort":
        # How the cohort is drawn costs nothing there, so no event says it.
        return words.split(";")[0]
    if terms.staged is not None:
        # The declared sampling stood there; the events are about that of the honest users.
        words = re.sub(r"fixed-size sampling m = [0-9]+|" + EVERYONE, "", words)
        words = re.sub(rf", {_DRAWN}(?=, staged)", "", words) if terms.noise_of == "user" else words
    return words


def says_drawn(words: str) -> bool:
    """Whether a sentence of version 1 says that the server drew users at random."""
    return bool(re.search(r"(Poisson|fixed-size) sampling", words)) and NOT_ACCOUNTED not in words
