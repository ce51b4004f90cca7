"""``fedward certify``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, cast

import typer
from rich.console import Console

from fedward.api.certify_api import carry_out_certification, record_of
from fedward.certificates.certified import Certified
from fedward.certificates.claims import Claims
from fedward.certificates.replica_scores import Score
from fedward.certificates.statements import statements
from fedward.certificates.threat import Attendance
from fedward.commands.options import Asked, Several, grouped
from fedward.commands.output import AsJson, place
from fedward.config.vary import Axis
from fedward.privacy.group import THREATS, Threat
from fedward.report.terminal import attack_cost_table as attack_cost
from fedward.report.terminal import certified_table as certified_accuracy
from fedward.report.terminal.console import plain_console
from fedward.studies.certification.certification_study import plan_certification

Count = Annotated[int, typer.Option("--replicas", "-m", help="M, how many trainings; fixed beforehand.")]
Attackers = Annotated[
    str | None,
    typer.Option(
        "--attackers",
        metavar="K,K,...",
        help="With an [attack] table: how many users attack, or poisoned examples; its cost is bounded.",
    ),
]
ThreatOption = Annotated[
    list[str] | None, typer.Option("--threat", help="inject, present or compromise; all three if none.")
]
AttendanceOption = Annotated[
    str, typer.Option("--attendance", help="drawn, every-round, or chosen: when attackers take part.")
]
ScoreOption = Annotated[str, typer.Option("--score", help="confidence or vote.")]
MethodOption = Annotated[
    str | None, typer.Option("--method", help="How means are bounded; betting, or clopper_pearson for votes.")
]
ErrorOption = Annotated[float, typer.Option("--error", help="ψ, with which the certificate may fail.")]
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="ψ for all test examples together, not for each of them.")
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="PATH", help="The run directory; else runs/NAME-certified.")
]


@grouped
def certify_command(
    asked: Asked,
    several: Several,
    replicas: Count = 1000,
    attackers: Attackers = None,
    threat: ThreatOption = None,
    attendance: AttendanceOption = "drawn",
    score: ScoreOption = "confidence",
    method: MethodOption = None,
    error: ErrorOption = 0.01,
    simultaneous: Simultaneous = False,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Train M replicas, or go on with them, and certify what attackers cannot change.

    Without an [attack] table: every test prediction, as a certificate for each variant with the scores that
    it can be checked from. With one, and --attackers: the cost of the attack, measured and bounded.
    """
    claims = Claims(
        replicas=replicas,
        threats=cast(tuple[Threat, ...], tuple(threat or THREATS)),
        attendance=cast(Attendance, attendance),
        score=cast(Score, score),
        method=method,
        error=error,
        simultaneous=simultaneous,
    )
    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-certified")
    study = plan_certification(
        source.content,
        source.name,
        claims,
        axes=several.axes(),
        attackers=None if attackers is None else Axis.parse(f"attack.who.count={attackers}").values,
        data=asked.data,
        save_space=several.save_space,
        block=several.block,
    )
    console = plain_console(stderr=as_json)
    found = carry_out_certification(study, path, compute, console)
    if as_json:
        print(json.dumps({"variants": record_of(found), "directory": str(path)}))
    elif found.costs:
        attack_cost.table(console, found.costs)
        console.print(f"attack_cost.png and certified.json are in {path}", highlight=False)
    else:
        _print(console, found.predictions)
        console.print(f"certificates and certified_accuracy.png are in {path}", highlight=False)


def _print(console: Console, found: Mapping[str, Certified]) -> None:
    certified_accuracy.table(console, found)
    if len(found) == 1:
        (only,) = found.values()
        certified_accuracy.one(console, only)
        for line in statements(only.certificate):
            console.print(line, highlight=False, soft_wrap=True, markup=False)
