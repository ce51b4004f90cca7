"""The fields that every part of the page has, and the facts about what was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.attacks.attack import KNOWLEDGE
from fedward.report.numbers import at_most_figure, many
from fedward.report.page.chart import Chart
from fedward.report.page.reproduce import Recipe
from fedward.rundir.computed_by import list_changes
from fedward.rundir.manifest import Manifest
from fedward.rundir.run_record import Record

Fact = tuple[str, str]
_NOBODY = "nobody attacks"
_TITLES = {
    "policy": "Clip policy",
    "sampler": "Who takes part in a round",
    "local": "Local training",
    "server": "Server step",
}


@dataclass(frozen=True, kw_only=True)
class About:
    """What the page says about any run: its id in the page, its name, how far it is, and what was run in a
    sentence and in facts."""

    key: str
    name: str
    path: str
    state: str
    finished: bool
    summary: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A run on the page, whatever kind it is of: ``recipe`` is how to do it again."""

    about: About
    charts: tuple[Chart, ...]
    recipe: Recipe


def about(
    run: Record, experiment: Mapping[str, Any], key: str, name: str, state: str, *more: Fact, attack: str = ""
) -> About:
    """Reads them off a run and an experiment of it; ``attack`` is what is said where nobody attacks."""
    return About(
        key=key,
        name=name,
        path=str(run.path),
        state=state,
        finished=run.finished,
        summary=in_short(experiment, run.manifest).replace(_NOBODY, attack or _NOBODY),
        facts=(*_facts(experiment, run.manifest), *more),
    )


def in_words(content: Any) -> str:
    """A part of an experiment with its arguments; what is not set, or is nothing, is left out.

    >>> in_words({"name": "poisson", "rate": 0.5, "seed": None})
    'poisson (rate 0.5)'
    """
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, float):
        return f"{content:g}"
    if isinstance(content, list):
        return ", ".join(map(in_words, content))
    if not isinstance(content, Mapping):
        return str(content)
    name = content.get("name", content.get("preset", ""))
    arguments = ", ".join(
        f"{key.replace('_', ' ')} {in_words(each)}"
        for key, each in content.items()
        if key not in ("name", "preset") and each is not None and each != []
    )
    return f"{name} ({arguments})" if arguments else str(name)


def in_short(experiment: Mapping[str, Any], manifest: Manifest) -> str:
    """What was run, in a sentence.

    >>> from fedward.rundir.manifest import Manifest
    >>> in_short({"rounds": 3, "algorithm": {"preset": "fedavg"}, "data": {"name": "digits"},
    ...           "model": {"name": "mlp"}}, Manifest(experiment={}, data={"users": 50}))
    'fedavg trains mlp on digits of 50 users, for 3 rounds; nobody attacks.'
    """
    users = manifest.data.users
    owners = f" of {many(users, 'user')}" if isinstance(users, int) else ""
    attack, attacked = experiment.get("attack"), _NOBODY
    if attack is not None:
        count = attack.get("who", {}).get("count")
        who = many(count, "user") if isinstance(count, int) else "some users"
        attacked = f"{who} attack, with {' and '.join(str(each.get('name')) for each in _attacks(attack))}"
    return (
        f"{experiment['algorithm'].get('preset')} trains {experiment['model'].get('name')} on "
        f"{experiment['data'].get('name')}{owners}, for {many(experiment['rounds'], 'round')}; {attacked}."
    )


def _attacks(attack: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(attack.get("data") or []), *(attack.get("model") or [])]


def _facts(experiment: Mapping[str, Any], manifest: Manifest) -> Iterator[Fact]:
    """Data, model, algorithm, attack and everything else that decides the result."""
    users = manifest.data.users
    owners = f"; {many(users, 'user')}" if isinstance(users, int) else ""
    yield "Data", in_words(experiment["data"]) + owners
    yield "Model", in_words(experiment["model"])
    algorithm = experiment["algorithm"]
    yield "Algorithm", in_words({key: each for key, each in algorithm.items() if key not in _TITLES})
    yield from ((title, in_words(algorithm[key])) for key, title in _TITLES.items() if algorithm.get(key))
    attack = experiment.get("attack")
    yield "Attack", _NOBODY if attack is None else _attack_in_words(attack)
    yield "Rounds", str(experiment["rounds"])
    yield "Seed", str(experiment["seed"])
    if manifest.delta is not None:
        budget = (experiment.get("privacy") or {}).get("budget")
        limit = f"; budget ε = {budget:g}" if budget is not None else ""
        yield "Accounting", f"{manifest.accountant} at δ = {at_most_figure(manifest.delta)}{limit}"
    if manifest.weights:
        yield "Initial weights", manifest.weights
    versions = manifest.versions
    yield "Versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or "not known"
    if manifest.engine:
        yield "Engine", manifest.engine
    yield from (("Went on with", each) for each in list_changes(manifest))
    known = manifest.environment
    if "begun" in known:
        yield "Begun", f"{known['begun']}, {known.get('system', '')}, {known.get('cores', '?')} cores"


def _attack_in_words(attack: Mapping[str, Any]) -> str:
    """Who attacks, with what, when, and knowing what."""
    chosen = attack.get("rounds")
    when = "in every round" if chosen is None else f"in rounds {', '.join(map(str, chosen))} (counted from 0)"
    return (
        f"{'; '.join(map(in_words, _attacks(attack)))}, by users: {in_words(attack.get('who'))}, {when}; "
        f"they know {KNOWLEDGE.get(attack.get('knowledge', ''), 'what the file says')}"
    )
