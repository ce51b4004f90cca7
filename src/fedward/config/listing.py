"""Every name that experiment files and commands know: what it stands for, and where it is written."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import one_of
from fedward.config.docstrings import arguments
from fedward.config.part_source import NO_DEFAULT, PartSource, read_parts, read_value


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Things of one kind by name.

    Args:
      name: of the kind, in the singular.
      place: where such a name is written.
      parts: what each name stands for: the source of a part, or text that says it.
      supplied: arguments that files need not give; None where files do not configure such parts.
    """

    name: str
    place: str
    parts: Mapping[str, PartSource | str]
    supplied: tuple[str, ...] | None = None

    def line(self, name: str) -> str:
        """What one of them is, in one line.

        >>> KINDS["sampler"].line("fixed_size")
        'Exactly m users, drawn without replacement.'
        """
        part = self.parts[name]
        first = " ".join(documentation(part).split("\n\n")[0].split()).replace("``", "")
        if self.name == "data set" and not needs_files(part):
            return f"{first} Needs no files."
        return first

    def defaults(self, name: str) -> dict[str, Any]:
        """The keys that its table takes, with their defaults; none if files do not have such tables."""
        part = self.parts[name]
        if self.supplied is None or isinstance(part, str):
            return {}
        return {key: each.default for key, each in part.keys.items() if key not in self.supplied}

    def keys(self, name: str) -> str:
        """The keys that its table takes, with their defaults, in one line.

        >>> KINDS["sampler"].keys("poisson"), KINDS["server step"].keys("momentum")
        ('rate', 'learning_rate = 1.0, momentum = 0.9, learning_rate_decay = 1.0')
        """
        return ", ".join(f"{key}{_in_words(default)}" for key, default in self.defaults(name).items())

    def meaning(self, name: str, key: str) -> str:
        """What a key of its table means.

        >>> KINDS["sampler"].meaning("poisson", "rate")
        'q: the probability with which a user takes part.'
        """
        part = self.parts[name]
        return "" if isinstance(part, str) else arguments(part.docstrings).get(key, "")


PRESETS = read_parts("fedward.presets", "PRESETS")
DATASETS = read_parts("fedward.datasets", "DATASETS")
MODELS = read_parts("fedward.models", "MODELS")
POISONINGS = read_parts("fedward.attacks", "POISONINGS")
MODEL_POISONINGS = read_parts("fedward.attacks", "MODEL_POISONINGS")
_SPLITS = {
    name: PartSource(module="fedward.datasets.partition", name=name)
    for name in ("iid", "dirichlet", "label_skew", "quantity_skew", "natural")
}
_KNOWLEDGE = {
    name: f"Attackers see {what}." for name, what in read_value("fedward.attacks.attack", "KNOWLEDGE").items()
}
_THREATS = {
    "inject": "k malicious users are added to a clean federation: would the prediction be the same?",
    "present": "k of the users trained on may be malicious: would it be the same without them?",
    "compromise": "k users of a clean federation are replaced by malicious ones: would it be the same?",
}
_COUNTED = ("num_users", "layers")
_FROM_DATA = ("input_shape", "num_classes", "vocabulary")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="preset", place="[algorithm] preset", parts=PRESETS, supplied=_COUNTED),
        Kind(
            name="sampler",
            place="algorithm.sampler",
            parts=read_parts("fedward.sampling", "SAMPLERS"),
            supplied=(),
        ),
        Kind(
            name="local trainer",
            place="algorithm.local",
            parts=read_parts("fedward.local", "LOCAL_TRAINERS"),
            supplied=(),
        ),
        Kind(
            name="clip policy",
            place="algorithm.policy",
            parts=read_parts("fedward.clipping", "CLIP_POLICIES"),
            supplied=("expected_cohort",),
        ),
        Kind(
            name="aggregator",
            place="algorithm.aggregator, algorithm.rule",
            parts=read_parts("fedward.aggregation", "AGGREGATORS"),
            supplied=("expected_cohort",),
        ),
        Kind(
            name="noise",
            place="algorithm.mechanism",
            parts=read_parts("fedward.mechanisms", "MECHANISMS"),
            supplied=(),
        ),
        Kind(
            name="server step",
            place="algorithm.server",
            parts=read_parts("fedward.server", "SERVERS"),
            supplied=(),
        ),
        Kind(name="data set", place="[data] name", parts=DATASETS, supplied=("seed",)),
        Kind(
            name="public feature",
            place="data.public_features",
            parts=read_parts("fedward.features", "PUBLIC_FEATURES"),
            supplied=(),
        ),
        Kind(name="split", place="[data] split", parts=_SPLITS),
        Kind(name="model", place="[model] name", parts=MODELS, supplied=_FROM_DATA),
        Kind(name="attacker", place="attack.who", parts=read_parts("fedward.attacks", "WHO"), supplied=()),
        Kind(name="data poisoning", place="attack.data", parts=POISONINGS, supplied=()),
        Kind(
            name="pattern",
            place="pattern of pattern and distributed",
            parts=read_parts("fedward.attacks.poisoning", "PATTERNS"),
            supplied=(),
        ),
        Kind(
            name="feature",
            place="feature of semantic",
            parts=read_parts("fedward.attacks.poisoning", "FEATURES"),
            supplied=(),
        ),
        Kind(name="model poisoning", place="attack.model", parts=MODEL_POISONINGS, supplied=()),
        Kind(name="knowledge", place="[attack] knowledge", parts=_KNOWLEDGE),
        Kind(
            name="accountant",
            place="[privacy] accountant",
            parts=read_parts("fedward.privacy", "ACCOUNTANTS"),
        ),
        Kind(name="threat", place="fedward certify --threat", parts=_THREATS),
        Kind(
            name="confidence method",
            place="fedward certify --method",
            parts=read_parts("fedward.certificates.confidence", "METHODS"),
        ),
    )
}


def kind_called(text: str) -> Kind:
    """The kind that somebody means, in the singular or plural, with spaces, dashes or underscores.

    >>> kind_called("clip-policies").name, kind_called("Presets").name
    ('clip policy', 'preset')
    """
    wanted = text.strip().lower().replace("-", " ").replace("_", " ")
    for name in KINDS:
        if wanted in (name, _plural(name)):
            return KINDS[name]
    return KINDS[one_of("kind", text, KINDS)]


def names() -> list[str]:
    """Every name there is, once, in order."""
    return sorted({name for kind in KINDS.values() for name in kind.parts})


def meanings(name: str) -> list[tuple[Kind, str]]:
    """All that a name stands for, with the whole documentation; some, like ``krum``, stand for two things."""
    return [(kind, _with_all_keys(kind, name)) for kind in KINDS.values() if name in kind.parts]


def _with_all_keys(kind: Kind, name: str) -> str:
    """Its documentation, and the keys that it shares with others and does not explain itself."""
    text = documentation(kind.parts[name])
    lines = [
        textwrap.fill(f"{key}: {kind.meaning(name, key)}", 108, initial_indent="  ", subsequent_indent="    ")
        for key in kind.defaults(name)
        if f"\n  {key}: " not in text
    ]
    return "\n".join([text, "", "Keys that it shares with others:", *lines]) if lines else text


def documentation(part: PartSource | str) -> str:
    """A part's docstring, or that of its file."""
    return part if isinstance(part, str) else part.documentation or "(not documented)"


def needs_files(part: PartSource | str) -> bool:
    """Whether a data set lies in files."""
    return isinstance(part, PartSource) and "data_dir" in part.keys


def _in_words(default: object) -> str:
    """A default as a file would have it."""
    if default is NO_DEFAULT:
        return ""
    if default is None:
        return " (optional)"
    text = str(default).lower() if isinstance(default, bool) else repr(default).replace("'", '"')
    return f" = {text}"


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
