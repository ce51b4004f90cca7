"""A guarantee: (ε, δ) and everything that it is about."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidType, InvalidValue, non_negative, one_of, open_unit, whole
from fedward.privacy.events import ADJACENCIES, Adjacency
from fedward.privacy.older_words import PAPERS_SAMPLING, says_drawn, terms_of
from fedward.privacy.rounding import delta_text, epsilon_text
from fedward.privacy.terms import SERVER, Terms

Unit = Literal["user", "example"]

UNITS: tuple[str, ...] = get_args(Unit)

ACCOUNTANT_LABELS: dict[str, str] = {
    "moments": "papers' moments accountant",
    "rdp": "rdp accountant",
    "pld": "pld accountant",
}
SOURCE_LABELS: dict[str, str] = {"seeded": "seeded noise: research only", "system": "system entropy"}


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What is guaranteed about the released models, or that nothing is.

        P[M(D) in E] <= e^ε P[M(D') in E] + δ   for all neighbouring D, D' and all E

    Args:
      epsilon: ε; infinite if and only if there is a ``reason``.
      delta: δ.
      unit: whose presence is hidden: a user's, or one example's.
      adjacency: which D and D' are neighbours.
      sampling: how cohorts (or batches) are drawn, in words; made from events, and read by people only.
      accountant: its name.
      noise_source: ``seeded`` noise can be subtracted by whoever knows the seed; None where none was drawn
        and nothing is known about it, as for a training that is only planned.
      rounds: how many rounds were released.
      terms: whose noise it is, the divisor of the mean, and what else decides whether it holds.
      sampled: whether ε counts on cohorts that the server draws at random and keeps secret.
      papers_sampling: whether the papers' accounting was used where it has no proof: see ``proven``.
      caveat: what else a reader must know.
      devices: how many users may be one person, whom it then hides as a whole.
      reason: why there is no guarantee. ``str()`` never shows a number then.

    >>> print(Guarantee(epsilon=0.28076, delta=0.0029, unit="user", adjacency="add/remove",
    ...                 sampling="Poisson q = 0.1", accountant="moments", noise_source="seeded", rounds=3))
    (ε = 0.2808, δ = 0.0029) user level, add/remove, Poisson q = 0.1, 3 rounds, papers' moments accountant, \
seeded noise: research only
    """

    epsilon: float
    delta: float
    unit: Unit
    adjacency: Adjacency
    sampling: str
    accountant: str
    noise_source: Source | None
    rounds: int
    terms: Terms = SERVER
    sampled: bool = False
    papers_sampling: bool = False
    caveat: str = ""
    reason: str = ""
    devices: int = 1

    def __post_init__(self) -> None:
        for name in ("sampling", "caveat", "reason"):
            text(name, getattr(self, name))
        if self.reason and self.epsilon != math.inf:
            raise InvalidValue(
                f"epsilon must be infinite where there is a reason against it, got {self.epsilon}"
            )
        if not self.reason:
            non_negative("epsilon", self.epsilon)
        open_unit("delta", self.delta)
        one_of("unit", self.unit, UNITS)
        one_of("adjacency", self.adjacency, ADJACENCIES)
        one_of("accountant", self.accountant, ACCOUNTANT_LABELS)
        if self.noise_source is not None:
            one_of("noise source", self.noise_source, SOURCES)
        whole("rounds", self.rounds, at_least=0)
        whole("devices per person", self.devices)
        if not isinstance(self.terms, Terms):
            raise InvalidType(f"terms must be the terms of a ledger, got {self.terms!r}")
        for name in ("sampled", "papers_sampling"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidType(
                    f"{name.replace('_', ' ')} must be true or false, got {getattr(self, name)!r}"
                )

    @property
    def private(self) -> bool:
        """Whether there is a guarantee at all."""
        return not self.reason

    @property
    def proven(self) -> bool:
        """Whether the ε is a proven one.

        The papers read cohorts of fixed size as Poisson samples and one user replaced as one removed. The
        figure that this gives is shown for comparison with theirs, and is not a guarantee: with m = 20 of
        N = 100, z = 2.8 and 300 rounds it is 7.17 at δ = 1e-5, where replacing one user that sends S by one
        that sends -S, among users that send nothing, already needs 12.7.
        """
        return self.private and not self.papers_sampling

    @property
    def level_in_words(self) -> str:
        """Who is hidden."""
        return (
            f"{self.unit} level"
            if self.devices == 1
            else f"person level, up to {self.devices:,} devices each"
        )

    @property
    def noise_in_words(self) -> str:
        """Where the noise came from, and whether it is exact; empty where none was drawn."""
        if self.noise_source is None:
            return ""
        return SOURCE_LABELS[self.noise_source] + (", exact noise" if self.terms.exact else "")

    @property
    def caveats(self) -> str:
        """All that a reader must know besides, in words."""
        papers = PAPERS_SAMPLING if self.papers_sampling else ""
        terms = self.terms
        return "; ".join(
            filter(None, (papers, terms.handed_out_in_words, terms.public_in_words, self.caveat))
        )

    def __str__(self) -> str:
        if self.reason:
            return f"no guarantee: {self.reason}"
        epsilon = "ε < 0.0001" if 0 < self.epsilon < 0.0001 else f"ε = {epsilon_text(self.epsilon)}"
        parts = [
            f"({epsilon}, δ = {delta_text(self.delta)}) {self.level_in_words}",
            self.adjacency if self.proven else "add/remove assumed",
            self.sampling,
            self.terms.divisor_in_words,
            f"{self.rounds} round{'' if self.rounds == 1 else 's'}",
            ACCOUNTANT_LABELS[self.accountant],
            self.noise_in_words,
        ]
        line = "; ".join(filter(None, (", ".join(filter(None, parts)), self.caveats)))
        return line if self.proven else f"not a guarantee, the papers' figure: {line}"

    def __repr__(self) -> str:
        if self.reason:
            return f"Guarantee(none: {self.reason})"
        research = ", research only" if self.noise_source == "seeded" else ""
        unproven = "" if self.proven else "the papers' figure, not proven: "
        return (
            f"Guarantee({unproven}ε = {epsilon_text(self.epsilon)}, δ = {delta_text(self.delta)}, "
            f"{self.level_in_words}, {self.adjacency}, rounds = {self.rounds}, {self.accountant}{research})"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite ε is null, since JSON has no infinity."""
        content = asdict(self) | {"terms": self.terms.to_json()}
        if self.devices == 1:  # as guarantees always were
            del content["devices"]
        return {"private": self.private, **content, "epsilon": self.epsilon if self.private else None}

    @classmethod
    def from_json(cls, content: Any) -> Guarantee:
        """The guarantee that ``to_json`` wrote, also in version 1; every key must be there, and no other."""
        names = ["private", *(field.name for field in fields(cls) if field.name != "devices")]
        if not isinstance(content, dict):
            raise InvalidType(f"guarantee must be an object, got {content!r}")
        if content.keys() == set(names) - _SINCE_VERSION_2:
            content = _from_version_1(content)
        if content.keys() - {"devices"} != set(names):
            raise InvalidValue(
                f"guarantee must have the keys {', '.join(names)}, got {', '.join(map(str, content))}"
            )
        terms = content["terms"]
        values = {**content, "terms": terms if isinstance(terms, Terms) else Terms.from_json(terms)}
        values = {**values, "epsilon": math.inf if content["epsilon"] is None else content["epsilon"]}
        private = values.pop("private")
        guarantee = cls(**values)
        if private is not guarantee.private:
            raise InvalidValue(f"private must be {guarantee.private} for this guarantee, got {private!r}")
        return guarantee


_SINCE_VERSION_2 = {"terms", "sampled", "papers_sampling"}


def _from_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """The same with what version 1 said in sentences as fields."""
    sampling, caveat = content["sampling"], content["caveat"]
    if not isinstance(caveat, str):
        raise InvalidType(f"caveat must be text, got {caveat!r}")
    # Without a guarantee the sentence says nothing that anybody relies on.
    terms = Terms() if content["reason"] else terms_of(sampling)
    caveats = [each for each in caveat.split("; ") if each != PAPERS_SAMPLING]
    return content | {
        "terms": terms,
        "sampled": terms.noise_of in ("server", "looks") and says_drawn(str(sampling)),
        "papers_sampling": PAPERS_SAMPLING in caveat,
        "caveat": "; ".join(caveats),
    }


def text(name: str, value: str) -> str:
    """Returns ``value`` if it is one line of text."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be text, got {value!r}")
    if len(value.splitlines()) > 1:
        raise InvalidValue(f"{name} must be one line, got {value!r}")
    return value
