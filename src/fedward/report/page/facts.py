"""A readable list of facts about what was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedward.attacks.attack import KNOWLEDGE
from fedward.report.numbers import at_most_figure, many
from fedward.rundir.computed_by import went_on

Fact = tuple[str, str]


def part(content: Any) -> str:
    """A part with its arguments; what is not set, or is nothing, is left out.

    >>> part({"name": "poisson", "rate": 0.5, "seed": None})
    'poisson (rate 0.5)'
    """
    if not isinstance(content, Mapping):
        return _plain(content)
    name = content.get("name", content.get("preset", ""))
    arguments = ", ".join(
        f"{key.replace('_', ' ')} {part(each)}"
        for key, each in content.items()
        if key not in ("name", "preset") and each is not None and each != []
    )
    return f"{name} ({arguments})" if arguments else str(name)


def _plain(content: Any) -> str:
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, float):
        return f"{content:g}"
    if isinstance(content, list):
        return ", ".join(map(part, content))
    return str(content)


def in_short(experiment: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """What was run, in a sentence.

    >>> in_short({"rounds": 3, "algorithm": {"preset": "fedavg"}, "data": {"name": "digits"},
    ...           "model": {"name": "mlp"}}, {"data": {"users": 50}})
    'fedavg trains mlp on digits of 50 users, for 3 rounds; nobody attacks.'
    """
    users = manifest.get("data", {}).get("users")
    owners = f" of {many(users, 'user')}" if isinstance(users, int) else ""
    attack = experiment.get("attack")
    parts = [] if attack is None else [*(attack.get("data") or []), *(attack.get("model") or [])]
    count = (attack or {}).get("who", {}).get("count")
    who = many(count, "user") if isinstance(count, int) else "some users"
    names = " and ".join(str(each.get("name")) for each in parts)
    return (
        f"{experiment['algorithm'].get('preset')} trains {experiment['model'].get('name')} on "
        f"{experiment['data'].get('name')}{owners}, for {many(experiment['rounds'], 'round')}; "
        + (f"{who} attack, with {names}." if attack is not None else "nobody attacks.")
    )


def about(experiment: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[Fact]:
    """Data, model, algorithm, attack and everything else that decides the result."""
    return list(_facts(experiment, manifest))


def _facts(experiment: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[Fact]:
    data = dict(experiment["data"])
    users = manifest.get("data", {}).get("users")
    yield "Data", part(data) + (f"; {many(users, 'user')}" if isinstance(users, int) else "")
    yield "Model", part(experiment["model"])
    algorithm = dict(experiment["algorithm"])
    own = {key: algorithm.pop(key, None) for key in ("sampler", "local", "server", "policy")}
    yield "Algorithm", part(algorithm)
    yield from (
        (title, part(own[key]))
        for key, title in (
            ("policy", "Clip policy"),
            ("sampler", "Who takes part in a round"),
            ("local", "Local training"),
            ("server", "Server step"),
        )
        if own[key]
    )
    attack = experiment.get("attack")
    yield "Attack", "nobody attacks" if attack is None else attack_in_words(attack)
    yield "Rounds", str(experiment["rounds"])
    yield "Seed", str(experiment["seed"])
    privacy = experiment.get("privacy") or {}
    if manifest.get("delta") is not None:
        budget = privacy.get("budget")
        limit = f"; budget ε = {budget:g}" if budget is not None else ""
        yield "Accounting", f"{manifest['accountant']} at δ = {at_most_figure(manifest['delta'])}{limit}"
    if manifest.get("weights"):
        yield "Initial weights", str(manifest["weights"])
    versions = manifest.get("versions") or {}
    yield "Versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or "not known"
    if manifest.get("engine"):
        yield "Engine", str(manifest["engine"])
    for each in went_on(manifest):
        yield "Went on with", each
    known = manifest.get("environment")
    if isinstance(known, Mapping) and "begun" in known:
        yield "Begun", f"{known['begun']}, {known.get('system', '')}, {known.get('cores', '?')} cores"


def attack_in_words(attack: Mapping[str, Any]) -> str:
    """Who attacks, with what, when, and knowing what."""
    parts = [*(attack.get("data") or []), *(attack.get("model") or [])]
    chosen = attack.get("rounds")
    when = "in every round" if chosen is None else f"in rounds {', '.join(map(str, chosen))} (counted from 0)"
    return (
        f"{'; '.join(map(part, parts))}, by users: {part(attack.get('who'))}, {when}; "
        f"they know {KNOWLEDGE.get(attack.get('knowledge', ''), 'what the file says')}"
    )
