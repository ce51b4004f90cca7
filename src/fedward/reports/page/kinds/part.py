"""A part of the page: one run in the template of its kind, with what is the same in all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from fedward.attacks.attack import KNOWLEDGE
from fedward.config.made_objects import is_object
from fedward.reports.page.again.reproduce import Recipe
from fedward.reports.templates import fill
from fedward.rundir.computed_by import list_changes
from fedward.rundir.run_record import Record

_TITLES = {
    "policy": "Clip policy",
    "sampler": "Who takes part in a round",
    "local": "Local training",
    "server": "Server step",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run stands on the page.

    Args:
      key: its id.
      name: what it is called.
      alone: whether no other run is on the page, and its part is not folded under a heading.
      colours: the number of the colour of each of its variants.
    """

    key: str
    name: str
    alone: bool = True
    colours: Mapping[str, int] = field(default_factory=dict)

    @property
    def colour(self) -> int:
        """The number of the first of its colours."""
        return next(iter(self.colours.values()), 0)


def fill_part(
    template: str, run: Record, experiment: Mapping[str, Any], place: Place, recipe: Recipe, **own: Any
) -> Markup:
    """A run, one of its experiments, its place in the page, and how to do it again.

    The template extends ``part.html``; ``own`` is what it needs besides.
    """
    algorithm = experiment["algorithm"]
    plain = {each: value for each, value in algorithm.items() if each not in _TITLES}
    parts = [(title, algorithm[each]) for each, title in _TITLES.items() if algorithm.get(each)]
    return fill(
        template,
        run=run,
        experiment=experiment,
        manifest=run.manifest,
        place=place,
        recipe=recipe,
        algorithm=[("Algorithm", plain), *parts],
        changes=list_changes(run.manifest),
        knowledge=KNOWLEDGE,
        in_words=in_words,
        is_object=is_object,
        **own,
    )


def in_words(content: Any, between: str = ", ") -> str:
    """A part of an experiment, or several, with its arguments; what is not set, or is nothing, is left out.

    >>> in_words({"name": "poisson", "rate": 0.5, "seed": None})
    'poisson (rate 0.5)'
    """
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, float):
        return f"{content:g}"
    if isinstance(content, list):
        return between.join(map(in_words, content))
    if not isinstance(content, Mapping):
        return str(content)
    made_of = str(content["object"]).rpartition(":")[2] if is_object(content) else ""
    name = content.get("name", content.get("preset", made_of))
    arguments = ", ".join(
        f"{key.replace('_', ' ')} {in_words(each)}"
        for key, each in content.items()
        if key not in (("name", "preset", "object", "layers") if made_of else ("name", "preset"))
        and each is not None
        and each not in ([], "")
    )
    return f"{name} ({arguments})" if arguments else str(name)
