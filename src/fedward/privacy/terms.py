"""The terms of a ledger: what its events do not say themselves about who draws, clips and protects."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from fedward.base.validate import InvalidType, InvalidValue, one_of, positive, rate, whole
from fedward.privacy.participation import Participation
from fedward.privacy.public_data import PublicData

NoiseOf = Literal["server", "user", "cohort", "looks"]
"""Whose noise was charged: the server's, a user's own, that of all users of a cohort together, or only that
of the server's looks at norms, where users protect their updates themselves."""

NOISE_OF: tuple[str, ...] = get_args(NoiseOf)


@dataclass(frozen=True, kw_only=True)
class ExactAttackers:
    """Cohorts with exactly ``each`` of ``attackers`` attackers: not the sampling of certificates.

    ``attacked_rounds_only``: other rounds draw attackers like everybody.
    """

    each: int
    attackers: int
    attacked_rounds_only: bool = False

    def __post_init__(self) -> None:
        whole("attackers in every cohort", self.each, at_least=0)
        if whole("attackers", self.attackers, at_least=0) < self.each:
            raise InvalidValue(
                f"attackers in every cohort must be at most the number of attackers, {self.attackers}, "
                f"got {self.each}"
            )
        if not isinstance(self.attacked_rounds_only, bool):
            raise InvalidType(
                f"attacked rounds only must be true or false, got {self.attacked_rounds_only!r}"
            )

    def to_json(self) -> dict[str, int | bool]:
        """Plain values; what files did not have from the beginning is left out where it says nothing."""
        limited = {"attacked_rounds_only": True} if self.attacked_rounds_only else {}
        return {"each": self.each, "attackers": self.attackers, **limited}

    @classmethod
    def from_json(cls, content: Any) -> ExactAttackers:
        """What ``to_json`` wrote; every key must be there, and no other."""
        if not isinstance(content, dict) or content.keys() - {"attacked_rounds_only"} != {
            "each",
            "attackers",
        }:
            raise InvalidValue(f"staged must have the keys each, attackers, got {content!r}")
        return cls(**content)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What decides whether an ε or a certificate holds and stands in no event.

    Args:
      noise_of: whose noise the events are about.
      divisor: m̄, the constant that sums over a cohort are divided by; None where nothing is divided by a
        constant, and in files of earlier versions, which did not say.
      declared: whether ``divisor`` was declared. Otherwise it follows the number of users in the data.
      cohort: m, the users whose noise adds up; None unless ``noise_of`` is ``cohort``, and where unknown.
      claimed_rate: q, where an example is *claimed* to be drawn with probability p q: see ``papers_claim``.
      staged: the exact number of attackers in every cohort; None where they are drawn like everybody.
      deviating: whether attackers need not do to their own updates what the other users do.
      public_sizes: whether the numbers of examples are public: they weigh the mean.
      handed_out: how many examples of honest users a natural backdoor has handed to attackers before the
        training began: ε is about the federation after that.
      looks: whether the events of a user hold the server's looks at its norm as well.
      public: the public data behind the features that users train on and the subspace that the server keeps;
        None where there are none.
      exact: whether the server's noise on the models is drawn by integers alone, on a grid that what users
        send is cut to: no floating point lies between it and its proof.
      participation: the schema that the server keeps every user to, where the events hold for no other.
      epoch: how many rounds an epoch has, in exactly one of which the server lets each user take part, drawn
        in secret (random allocation); None where users are drawn in another way.
    """

    noise_of: NoiseOf = "server"
    divisor: float | None = None
    declared: bool = False
    cohort: float | None = None
    claimed_rate: float | None = None
    staged: ExactAttackers | None = None
    deviating: bool = False
    public_sizes: bool = False
    handed_out: int = 0
    looks: bool = False
    public: PublicData | None = None
    exact: bool = False
    participation: Participation | None = None
    epoch: int | None = None

    def __post_init__(self) -> None:
        one_of("noise of", self.noise_of, NOISE_OF)
        for name in ("declared", "deviating", "public_sizes", "looks", "exact"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidType(
                    f"{name.replace('_', ' ')} must be true or false, got {getattr(self, name)!r}"
                )
        if self.divisor is not None:
            positive("divisor", self.divisor)
        elif self.declared:
            raise InvalidValue("a divisor that was declared must be given, got none")
        if self.cohort is not None:
            positive("cohort", self.cohort)
        if self.claimed_rate is not None:
            rate("claimed rate", self.claimed_rate)
        if self.noise_of != "cohort" and not (self.cohort is None and self.claimed_rate is None):
            raise InvalidValue(
                f"a cohort whose noise adds up needs noise of the cohort, got {self.noise_of!r}"
            )
        if self.staged is not None and not isinstance(self.staged, ExactAttackers):
            raise InvalidType(f"staged must be a number of attackers, got {self.staged!r}")
        if self.participation is not None and not isinstance(self.participation, Participation):
            raise InvalidType(f"participation must be a schema, got {self.participation!r}")
        if self.epoch is not None:
            whole("rounds of an epoch", self.epoch, at_least=2)
        whole("examples handed out", self.handed_out, at_least=0)
        if self.public is not None and not isinstance(self.public, PublicData):
            raise InvalidType(f"public must be public data, got {self.public!r}")

    @property
    def divisor_in_words(self) -> str:
        """The part of a guarantee about the divisor; empty where there is none."""
        if self.divisor is None:
            return ""
        return f"divisor m̄ = {self.divisor:g}, {'declared' if self.declared else 'from the number of users'}"

    @property
    def handed_out_in_words(self) -> str:
        """The caveat of a natural backdoor; empty where there is none."""
        if not self.handed_out:
            return ""
        examples = "1 example" if self.handed_out == 1 else f"{self.handed_out:,} examples"
        return f"about the federation after {examples} of honest users were handed to the attackers"

    @property
    def public_in_words(self) -> str:
        """The caveat of public data; empty where there are none."""
        return "" if self.public is None else str(self.public)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what files did not have from the beginning is left out where it says nothing."""
        content = asdict(self)
        if self.staged is not None:
            content["staged"] = self.staged.to_json()
        return {name: value for name, value in content.items() if name not in _LATER or value}

    @classmethod
    def from_json(cls, content: Any) -> Terms:
        """The terms that ``to_json`` wrote; every key must be there, and no other."""
        names = [field.name for field in fields(cls) if field.name not in _LATER]
        if not isinstance(content, dict):
            raise InvalidType(f"terms must be an object, got {content!r}")
        if content.keys() - _LATER != set(names):
            raise InvalidValue(
                f"terms must have the keys {', '.join(names)}, got {', '.join(map(str, content))}"
            )
        staged = content["staged"]
        if staged is not None:
            staged = ExactAttackers.from_json(staged)
        schema = content.get("participation")
        if schema is not None:
            if not isinstance(schema, dict) or schema.keys() != {"most", "separation"}:
                raise InvalidValue(f"participation must have the keys most, separation, got {schema!r}")
            schema = Participation(**schema)
        for name in ("divisor", "cohort", "claimed_rate"):
            value = content[name]
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidValue(f"{name.replace('_', ' ')} must be finite, got {value}")
        public = None if content.get("public") is None else PublicData.from_json(content["public"])
        return cls(**content | {"staged": staged, "participation": schema, "public": public})


# Written only where they say something: files without them are what they always were.
_LATER = {"epoch", "exact", "participation", "public"}

SERVER, USER = Terms(), Terms(noise_of="user")
