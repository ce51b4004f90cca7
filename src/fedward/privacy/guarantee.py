"""A guarantee: (ε, δ) and everything that it is about."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from fedward.core.randomness import SOURCES, Source
from fedward.core.validate import InvalidType, InvalidValue, non_negative, one_of, open_unit, whole
from fedward.privacy.events import ADJACENCIES, Adjacency

Unit = Literal["user", "example"]

UNITS: tuple[str, ...] = get_args(Unit)

ACCOUNTANT_LABELS: dict[str, str] = {
    "moments": "papers' moments accountant",
    "rdp": "rdp accountant",
    "pld": "pld accountant",
}
PAPERS_SAMPLING = "the paper's accounting: it assumes Poisson sampling, the cohort was drawn at fixed size"
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
      sampling: how cohorts (or batches) are drawn, in words.
      accountant: its name.
      noise_source: ``seeded`` noise can be subtracted by whoever knows the seed.
      rounds: how many rounds were released.
      caveat: what else a reader must know.
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
    noise_source: Source
    rounds: int
    caveat: str = ""
    reason: str = ""

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
        one_of("noise source", self.noise_source, SOURCES)
        whole("rounds", self.rounds, at_least=0)

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
        return self.private and PAPERS_SAMPLING not in self.caveat

    def __str__(self) -> str:
        if self.reason:
            return f"no guarantee: {self.reason}"
        # Four zeros would read as perfect privacy.
        epsilon = "ε < 0.0001" if 0 < self.epsilon < 0.00005 else f"ε = {_in_figures(self.epsilon)}"
        parts = [
            f"({epsilon}, δ = {self.delta:g}) {self.unit} level",
            self.adjacency if self.proven else "add/remove assumed",
            self.sampling,
            f"{self.rounds} round{'' if self.rounds == 1 else 's'}",
            ACCOUNTANT_LABELS[self.accountant],
            SOURCE_LABELS[self.noise_source],
        ]
        line = ", ".join(parts) + (f"; {self.caveat}" if self.caveat else "")
        return line if self.proven else f"not a guarantee, the papers' figure: {line}"

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite ε is null, since JSON has no infinity."""
        content = asdict(self)
        return {"private": self.private, **content, "epsilon": self.epsilon if self.private else None}

    @classmethod
    def from_json(cls, content: Any) -> Guarantee:
        """The guarantee that ``to_json`` wrote; every key must be there, and no other."""
        names = ["private", *(field.name for field in fields(cls))]
        if not isinstance(content, dict):
            raise InvalidType(f"guarantee must be an object, got {content!r}")
        if content.keys() != set(names):
            raise InvalidValue(
                f"guarantee must have the keys {', '.join(names)}, got {', '.join(map(str, content))}"
            )
        values = {**content, "epsilon": math.inf if content["epsilon"] is None else content["epsilon"]}
        private = values.pop("private")
        guarantee = cls(**values)
        if private is not guarantee.private:
            raise InvalidValue(f"private must be {guarantee.private} for this guarantee, got {private!r}")
        return guarantee


def _in_figures(epsilon: float) -> str:
    """Four decimals, as the papers print it; of what protects nobody its size is enough."""
    return f"{epsilon:.4f}" if epsilon < 1e6 else f"{epsilon:.3g}"


def text(name: str, value: str) -> str:
    """Returns ``value`` if it is one line of text."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be text, got {value!r}")
    if len(value.splitlines()) > 1:
        raise InvalidValue(f"{name} must be one line, got {value!r}")
    return value
