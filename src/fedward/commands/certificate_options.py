"""The options of the certificate commands: the training, its attackers, and the cost of an attack."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, cast

import typer
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidValue, one_of, rate, whole
from fedward.certificates.threat import Attendance, ThreatModel, certifiable
from fedward.commands.output import require_option
from fedward.privacy import ACCOUNTANTS, Ledger, epsilon_of
from fedward.privacy.events import Adjacency, multiplier
from fedward.privacy.group import Threat
from fedward.privacy.guarantee import UNITS, Unit
from fedward.privacy.spending import Mechanisms

# The only one that certificates are about.
ADJACENCY: Adjacency = "add/remove"


@dataclass(frozen=True, kw_only=True)
class Training:
    """What the options say about the training and its attackers."""

    spending: Mechanisms
    tight: bool
    threat: Threat
    delta: float | None
    content: dict[str, Any]

    @property
    def group(self) -> int:
        """Users that paper mode counts for one attacker: a replaced one is one removed and one added."""
        return 2 if self.threat == "compromise" else 1

    @property
    def promise(self) -> tuple[float, float]:
        """ε and δ of paper mode."""
        return self.content["epsilon"], require_option("--delta", self.delta)


@dataclass(frozen=True, kw_only=True)
class Described:
    """A training and its attackers, as the options describe them."""

    noise_multiplier: Annotated[
        float, typer.Option("--noise-multiplier", help="z: noise over clip bound (papers' σ).")
    ]
    sampling_rate: Annotated[
        float, typer.Option("--sampling-rate", help="q: Poisson sampling; 1 is everyone.")
    ]
    rounds: Annotated[int, typer.Option("--rounds", help="T: rounds, or steps of one user for examples.")]
    delta: Annotated[float | None, typer.Option("--delta", help="δ, for paper mode; tight needs none.")] = (
        None
    )
    mode: Annotated[str, typer.Option("--mode", help="tight (ours) or paper (as published).")] = "tight"
    threat: Annotated[str, typer.Option("--threat", help="inject, present or compromise.")] = "inject"
    unit: Annotated[str, typer.Option("--unit", help="user, or example: poisoned data only.")] = "user"
    attendance: Annotated[
        str,
        typer.Option("--attendance", help="Attackers are drawn, chosen (when they like) or every-round."),
    ] = "drawn"
    accountant: Annotated[
        str | None, typer.Option("--accountant", help="Of paper mode: moments (theirs), rdp, pld.")
    ] = None

    def training(self) -> Training:
        """The training, refused if it cannot be certified."""
        one_of("mode", self.mode, ["tight", "paper"])
        one_of("unit", self.unit, UNITS)
        event = GaussianDpEvent(multiplier(self.noise_multiplier))
        if rate("sampling rate", self.sampling_rate) < 1:
            event = PoissonSampledDpEvent(self.sampling_rate, event)
        model = ThreatModel(
            threat=cast(Threat, self.threat),
            attendance=cast(Attendance, self.attendance),
            behaviour="anything" if self.unit == "user" else "data",
        )
        ledger = Ledger(unit=cast(Unit, self.unit), adjacency=ADJACENCY, noise_source="seeded")
        spending = certifiable(ledger.charged(event, whole("rounds", self.rounds)), model)
        content = asdict(self) | {"behaviour": model.behaviour}
        if self.mode == "paper":
            name = one_of("accountant", self.accountant or "moments", ACCOUNTANTS)
            epsilon = epsilon_of(spending, require_option("--delta", self.delta), name, ADJACENCY)
            content |= {"accountant": name, "adjacency": ADJACENCY, "epsilon": epsilon}
        elif content.pop("accountant") is not None:
            raise InvalidValue("--accountant belongs to paper mode, got mode 'tight'")
        return Training(
            spending=spending,
            tight=self.mode == "tight",
            threat=model.threat,
            delta=self.delta,
            content=content,
        )


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of an attack, and its bound."""

    cost: Annotated[float, typer.Option("--cost", help="J: expected cost of the model that was sampled.")]
    cost_bound: Annotated[float, typer.Option("--cost-bound", help="C̄: no cost counts as more than this.")]
    negative: Annotated[bool, typer.Option("--negative", help="Costs lie in [-C̄, 0].")] = False
