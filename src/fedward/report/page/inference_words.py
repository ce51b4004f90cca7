"""The findings of an inference attack in words for people who know no mathematics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedward.report.numbers import at_most, many, percent
from fedward.rundir.inference_record import InferenceRecord, advantage

_SMALL = "0.01"


def between(found: Mapping[str, Any]) -> str:
    """A measured share with its interval."""
    return f"{percent(found['value'])} ({percent(found['low'])} to {percent(found['high'])})"


def question(run: InferenceRecord) -> str:
    """What the attacker wants to know, and what it has."""
    if run.kind == "membership":
        unit = str(run.about["unit"])
        return (
            f"Somebody who has the final model asks of one {unit} after the other: was it trained on? To "
            "find out whether such an attacker can tell, the model was trained on random halves of the data; "
            f"so for every {unit} it is known what the right answer is."
        )
    return (
        f"User {run.about.get('attacker')} takes part in the training and watches the model. In every round "
        f"it asks: does user {run.about.get('victim')} train on data with a certain property right now? A "
        "coin decides each time whether it does; so the right answer is known."
    )


def verdict(run: InferenceRecord) -> str:
    """The best attack in one sentence."""
    assert run.best is not None  # asked of finished runs only
    auc = run.attacks[run.best]["auc"]
    both = "a round in which the victim's data had the property and one in which it had not"
    if run.kind == "membership":
        unit = run.about["unit"]
        both = f"{'an' if unit == 'example' else 'a'} {unit} that was trained on and one that was not"
    value, _, interval = between(auc).partition(" (")
    return (
        f"Shown {both}, the best attack picks the right one {value} of the time ({interval}; "
        "a coin would be right in half of all cases."
    )


def findings(run: InferenceRecord) -> Iterator[str]:
    """What else a reader should know, in the order of importance."""
    assert run.result is not None
    assert run.best is not None
    limit, best = run.result["limit"], run.attacks[run.best]
    for name, where in run.crossed.items():
        yield (
            f"{name} found more than the guarantee allows ({', '.join(where)}): the guarantee does not hold, "
            "or not for this attack. This should not happen; please report it."
        )
    if limit["auc"] is None:
        yield f"Nothing limits what some other attack could find: {limit['about']}."
    else:
        yield (
            f"Whatever an attacker does, it picks the right one at most {at_most(float(limit['auc']))} of "
            f"the time in expectation: that follows from the privacy guarantee ({limit['about']})."
        )
    point = best["tpr_at_fpr"].get(_SMALL)
    if point is not None:
        most = (limit["tpr_at_fpr"] or {}).get(_SMALL)
        allowed = "" if most is None else f", and privacy allows {at_most(float(most))} at most"
        yield (
            "Averages hide what happens to a few. An attacker that may accuse one in a hundred wrongly finds "
            f"{between(point['tpr'])} of those it is after; guessing would find 1\xa0%{allowed}."
        )
    yield (
        f"Its advantage is {percent(advantage(best))}: so much more often it says yes where that is right "
        "than where it is wrong, at the threshold that suits it best. 0\xa0% is guessing, 100\xa0% is "
        "certainty."
    )
    if run.kind == "membership":
        asked = many(best["positives"], str(run.about["unit"]))
        yield (
            f"Asked about {asked} that were trained on and {best['negatives']:,} "
            f"that were not, over {many(run.result['targets'], 'attacked training')}, after "
            f"{many(run.result['shadows'], 'training')} of the attacker's own."
        )
    else:
        yield (
            f"Asked about {many(best['positives'], 'round')} with the property and {best['negatives']:,} "
            "without it."
        )
    for rate in best["unresolved_fpr"]:
        yield (
            f"Nothing can be said about false alarms as rare as {percent(rate)}: that needs at least "
            f"{round(1 / rate):,} to be wrong about, and there are {best['negatives']:,}."
        )
