"""The options of the certificate commands: the training, its attackers, and the cost of an attack."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

from fedward.base.validate import InvalidValue, one_of, rate, whole
from fedward.commands.output import require_option

if TYPE_CHECKING:
    from fedward.privacy.events import Adjacency
    from fedward.privacy.group import Threat
    from fedward.privacy.spending import Mechanisms

# The only one that certificates are about.
ADJACENCY: Adjacency = "add/remove"


@dataclass(frozen=True, kw_only=True)
class Training:
    """What the options say about the training and its attackers; ``promise`` is (ε, δ) of paper mode."""

    spending: Mechanisms
    threat: Threat
    content: dict[str, Any]
    promise: tuple[float, float] | None

    @property
    def group(self) -> int:
        """Users that paper mode counts for one attacker: a replaced one is one removed and one added."""
        return 2 if self.threat == "compromise" else 1


@dataclass(frozen=True, kw_only=True)
class Described:
    """A training and its attackers, as the options describe them."""

    noise_multiplier: Annotated[float, Option(help="z: noise over clip bound (papers' σ).")]
    sampling_rate: Annotated[float, Option(help="q: Poisson sampling; 1 is everyone.")]
    rounds: Annotated[int, Option(help="T: rounds, or steps of one user for examples.")]
    delta: Annotated[float | None, Option(help="δ, for paper mode; tight needs none.")] = None
    mode: Annotated[str, Option(help="tight (ours) or paper (as published).")] = "tight"
    threat: Annotated[str, Option(help="inject, present or compromise.")] = "inject"
    unit: Annotated[str, Option(help="user, or example: poisoned data only.")] = "user"
    attendance: Annotated[
        str, Option(help="Attackers are drawn, chosen (when they like) or every-round.")
    ] = "drawn"
    accountant: Annotated[str | None, Option(help="Of paper mode: moments (theirs), rdp, pld.")] = None

    def training(self) -> Training:
        """The training, refused if it cannot be certified."""
        from fedward.certificates.threat import Attendance, ThreatModel, certifiable
        from fedward.privacy import ACCOUNTANTS, Ledger, epsilon_of
        from fedward.privacy.accounting_events import GaussianDpEvent, PoissonSampledDpEvent
        from fedward.privacy.events import multiplier
        from fedward.privacy.group import Threat
        from fedward.privacy.guarantee import UNITS, Unit

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
        content, promise = asdict(self) | {"behaviour": model.behaviour}, None
        if self.mode == "paper":
            name = one_of("accountant", self.accountant or "moments", ACCOUNTANTS)
            delta = require_option("--delta", self.delta)
            promise = epsilon_of(spending, delta, name, ADJACENCY), delta
            content |= {"accountant": name, "adjacency": ADJACENCY, "epsilon": promise[0]}
        elif content.pop("accountant") is not None:
            raise InvalidValue("--accountant belongs to paper mode, got mode 'tight'")
        return Training(spending=spending, threat=model.threat, content=content, promise=promise)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of an attack, and its bound."""

    cost: Annotated[float, Option(help="J: expected cost of the model that was sampled.")]
    cost_bound: Annotated[float, Option(help="C̄: no cost counts as more than this.")]
    negative: Annotated[bool, Option("--negative", help="Costs lie in [-C̄, 0].")] = False
