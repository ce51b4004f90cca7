"""The findings of an inference attack in words for people who know no mathematics."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from fedward.report.numbers import at_most, many, percent
from fedward.report.page.templates import read
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.results import IntervalRecord, MembershipResult

_WORDS = tomllib.loads(read("inference_words.toml"))
_SMALL = "0.01"


def between(found: IntervalRecord, form: str = "{value} ({low} to {high})") -> str:
    """A measured share with its interval."""
    return form.format(value=percent(found.value), low=percent(found.low), high=percent(found.high))


def question(run: InferenceRecord) -> str:
    """What the attacker wants to know, and what it has."""
    return str(_WORDS[run.kind]["question"].format(**{"attacker": None, "victim": None, **run.about}))


def verdict(run: InferenceRecord) -> str:
    """The best attack in one sentence."""
    assert run.best is not None  # asked of finished runs only
    unit = run.about.get("unit")
    both = _WORDS[run.kind]["both"].format(unit=unit, article="an" if unit == "example" else "a")
    return between(run.attacks[run.best].auc, _WORDS["found"]["verdict"].replace("{both}", both))


def findings(run: InferenceRecord) -> Iterator[str]:
    """What else a reader should know, in the order of importance."""
    assert run.result is not None
    assert run.best is not None
    say, limit, best = _WORDS["found"], run.result.limit, run.attacks[run.best]
    for name, where in run.crossed.items():
        yield say["crossed"].format(name=name, where=", ".join(where))
    if limit.auc is None:
        yield say["unlimited"].format(about=limit.about)
    else:
        yield say["limited"].format(most=at_most(limit.auc), about=limit.about)
    if (point := best.tpr_at_fpr.get(_SMALL)) is not None:
        most = (limit.tpr_at_fpr or {}).get(_SMALL)
        allowed = "" if most is None else f", and privacy allows {at_most(most)} at most"
        yield say["few"].format(found=between(point.tpr), allowed=allowed)
    yield say["advantage"].format(advantage=percent(best.advantage))
    found = run.result
    targets, shadows = (found.targets, found.shadows) if isinstance(found, MembershipResult) else (0, 0)
    yield _WORDS[run.kind]["asked"].format(
        positives=many(best.positives, str(run.about.get("unit", "round"))),
        negatives=f"{best.negatives:,}",
        targets=many(targets, "attacked training"),
        shadows=many(shadows, "training"),
    )
    for rate in best.unresolved_fpr:
        least = round(1 / rate)
        yield say["unresolved"].format(rate=percent(rate), least=least, negatives=best.negatives)
