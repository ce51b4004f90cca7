"""The options of the certificate commands: the training, and its attackers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidValue, one_of, rate, whole
from fedward.certificates.threat import Attendance, ThreatModel, certifiable
from fedward.commands.output import given
from fedward.privacy import ACCOUNTANTS, Ledger, epsilon_of
from fedward.privacy.events import Adjacency, multiplier
from fedward.privacy.group import Threat
from fedward.privacy.guarantee import UNITS, Unit
from fedward.privacy.spending import Mechanisms

Noise = Annotated[float, typer.Option("--noise-multiplier", help="z: noise over clip bound (papers' σ).")]
Rate = Annotated[float, typer.Option("--sampling-rate", help="q: Poisson sampling; 1 is everyone.")]
Rounds = Annotated[int, typer.Option("--rounds", help="T: rounds, or steps of one user for examples.")]
Delta = Annotated[float | None, typer.Option("--delta", help="δ, for paper mode; tight needs none.")]
Mode = Annotated[str, typer.Option("--mode", help="tight (ours) or paper (as published).")]
Against = Annotated[str, typer.Option("--threat", help="inject, present or compromise.")]
Of = Annotated[str, typer.Option("--unit", help="user, or example: poisoned data only.")]
Attends = Annotated[
    str, typer.Option("--attendance", help="Attackers are drawn, chosen (when they like) or every-round.")
]
By = Annotated[str | None, typer.Option("--accountant", help="Of paper mode: moments (theirs), rdp, pld.")]
Cost = Annotated[float, typer.Option("--cost", help="J: expected cost of the model that was sampled.")]
CostBound = Annotated[float, typer.Option("--cost-bound", help="C̄: no cost counts as more than this.")]
Negative = Annotated[bool, typer.Option("--negative", help="Costs lie in [-C̄, 0].")]


# The only one that certificates are about.
ADJACENCY: Adjacency = "add/remove"


@dataclass(frozen=True, kw_only=True)
class Training:
    """What the options say about the training and its attackers."""

    spending: Mechanisms
    mode: str
    threat: Threat
    content: dict[str, Any]

    @property
    def group(self) -> int:
        """Users that paper mode counts for one attacker: a replaced one is one removed and one added."""
        return 2 if self.threat == "compromise" else 1


def described(
    noise_multiplier: float,
    sampling_rate: float,
    rounds: int,
    delta: float | None,
    mode: str,
    threat: str,
    unit: str,
    attendance: str,
    accountant: str | None,
) -> Training:
    """The training that the options describe, refused if it cannot be certified."""
    one_of("mode", mode, ["tight", "paper"])
    one_of("unit", unit, UNITS)
    event = GaussianDpEvent(multiplier(noise_multiplier))
    if rate("sampling rate", sampling_rate) < 1:
        event = PoissonSampledDpEvent(sampling_rate, event)
    model = ThreatModel(
        threat=cast(Threat, threat),
        attendance=cast(Attendance, attendance),
        behaviour="anything" if unit == "user" else "data",
    )
    ledger = Ledger(unit=cast(Unit, unit), adjacency=ADJACENCY, noise_source="seeded")
    ledger = ledger.charged(event, whole("rounds", rounds))
    spending = certifiable(ledger, model)
    content: dict[str, Any] = {
        "mode": mode,
        "threat": threat,
        "unit": unit,
        "behaviour": "anything" if unit == "user" else "data",
        "attendance": attendance,
        "noise_multiplier": noise_multiplier,
        "sampling_rate": sampling_rate,
        "rounds": rounds,
        "delta": delta,
    }
    if mode == "paper":
        name = one_of("accountant", accountant or "moments", ACCOUNTANTS)
        epsilon = epsilon_of(spending, given("--delta", delta), name, ADJACENCY)
        content |= {"accountant": name, "adjacency": ADJACENCY, "epsilon": epsilon}
    elif accountant is not None:
        raise InvalidValue("--accountant belongs to paper mode, got mode 'tight'")
    return Training(spending=spending, mode=mode, threat=model.threat, content=content)
