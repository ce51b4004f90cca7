"""The options that ask for a certificate by another proof than fedward's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fedward.base.validate import InvalidValue, one_of

if TYPE_CHECKING:
    from fedward.certificates.others import Proof

_OF = {"groups": "flcert", "group_size": "flcert_random", "attacked_rounds": "crfl"}


@dataclass(frozen=True, kw_only=True)
class OtherProof:
    """By which other proof, and its options."""

    by: Annotated[
        str | None,
        Option(
            "--by",
            metavar="PROOF",
            help="Another proof than ours: flcert (--groups G, disjoint; no -m), flcert_random (--group-size "
            "S), or crfl (server model_clipping).",
        ),
    ] = None
    groups: Annotated[
        int | None, Option("--groups", metavar="G", help="flcert: a model for each of G groups of users.")
    ] = None
    group_size: Annotated[
        int | None,
        Option("--group-size", metavar="S", help="flcert_random: each model on S users drawn at random."),
    ] = None
    attacked_rounds: Annotated[
        str | None,
        Option("--attacked-rounds", metavar="T,T,...", help="crfl: attackers act in these alone, from 0."),
    ] = None

    def proof(self) -> Proof | None:
        """The proof that was asked for; None for fedward's own."""
        from fedward.certificates.others import PROOFS, DisjointGroups, ParameterSmoothing, RandomGroups

        if self.by is not None:
            one_of("--by", self.by, PROOFS)
        for name, belongs in _OF.items():
            if getattr(self, name) is not None and self.by != belongs:
                raise InvalidValue(f"--{name.replace('_', '-')} belongs to --by {belongs}, got {self.by}")
        if self.by == "flcert":
            if self.groups is None:
                raise InvalidValue("--by flcert needs --groups G, got none")
            return DisjointGroups(groups=self.groups)
        if self.by == "flcert_random":
            if self.group_size is None:
                raise InvalidValue("--by flcert_random needs --group-size S, got none")
            return RandomGroups(size=self.group_size)
        if self.by is None:
            return None
        told = self.attacked_rounds
        if told is None:
            return ParameterSmoothing()
        if not all(part.strip().isdecimal() for part in told.split(",")):
            raise InvalidValue(f"--attacked-rounds must be whole numbers, separated by commas, got {told!r}")
        return ParameterSmoothing(attacked=tuple(map(int, told.split(","))))
