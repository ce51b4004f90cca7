"""``fedward certify``."""

from __future__ import annotations

from typing import Annotated, cast

from typer import Option

from fedward.commands.options import Asked, Several, grouped
from fedward.commands.output import AsJson, answer, answer_part, place
from fedward.commands.proof_options import OtherProof
from fedward.reports.terminal.console import plain_console, say


@grouped
def certify_command(
    asked: Asked,
    several: Several,
    other: OtherProof,
    replicas: Annotated[
        int, Option("--replicas", "-m", help="M, how many trainings; fixed beforehand.")
    ] = 1000,
    attackers: Annotated[
        str | None,
        Option(
            metavar="K,K,...",
            help="With an [attack] table: how many users attack, or poisoned examples; its cost is bounded.",
        ),
    ] = None,
    threat: Annotated[
        list[str] | None, Option(help="inject, present or compromise; all three if none.")
    ] = None,
    attendance: Annotated[
        str, Option(help="drawn, every-round, or chosen: when attackers take part.")
    ] = "drawn",
    score: Annotated[str, Option(help="confidence or vote.")] = "confidence",
    method: Annotated[
        str | None, Option(help="How means are bounded; betting, or clopper_pearson for votes.")
    ] = None,
    error: Annotated[float, Option(help="ψ, with which the certificate may fail.")] = 0.01,
    simultaneous: Annotated[
        bool, Option("--simultaneous", help="ψ for all test examples together, not for each of them.")
    ] = False,
    until: Annotated[
        str | None,
        Option(
            metavar="K,K,...",
            help="Stop before M once every example is decided against these k; with --method betting_votes.",
        ),
    ] = None,
    out: Annotated[
        str | None, Option(metavar="PATH", help="The run directory; else runs/NAME-certified.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train M replicas, or go on with them, and certify what attackers cannot change.

    Without an [attack] table: every test prediction, as a certificate for each variant with the scores that
    it can be checked from. With one, and --attackers: the cost of the attack, measured and bounded.

    With --by the proof is another one than fedward's: groups of users, or smoothed parameters.
    """
    from fedward.api.certify_api import carry_out_certification, record_of
    from fedward.certificates.claims import Claims
    from fedward.certificates.replica_scores import Score
    from fedward.certificates.statements import statements
    from fedward.certificates.threat import Attendance
    from fedward.config.vary import Axis
    from fedward.privacy.group import THREATS, Threat
    from fedward.reports.terminal import attack_cost_table as attack_cost
    from fedward.reports.terminal import certified_table as certified_accuracy
    from fedward.rundir.part_record import PartRecord
    from fedward.studies.certification.certification_study import plan_certification

    claims = Claims(
        replicas=replicas,
        threats=cast(tuple[Threat, ...], tuple(threat or THREATS)),
        attendance=cast(Attendance, attendance),
        score=cast(Score, score),
        method=method,
        error=error,
        simultaneous=simultaneous,
        until=() if until is None else Axis.parse(f"until={until}").values,
        by=other.proof(),
    )
    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-certified")
    study = plan_certification(
        source.content,
        source.name,
        claims,
        axes=several.axes(source),
        attackers=None if attackers is None else Axis.parse(f"attack.who.count={attackers}").values,
        data=asked.data,
        save_space=several.save_space,
        block=several.block,
        range=several.range,
    )
    console = plain_console(stderr=as_json)
    found = carry_out_certification(study, path, compute, console)
    if isinstance(found, PartRecord):
        answer_part(console, as_json, found, path)
    elif as_json:
        answer(True, {"variants": record_of(found), "directory": str(path)})
    elif found.costs:
        attack_cost.table(console, found.costs)
        say(console, f"attack_cost.png and certified.json are in {path}")
    else:
        certified_accuracy.table(console, found.predictions)
        if len(found.predictions) == 1:
            (only,) = found.predictions.values()
            certified_accuracy.one(console, only)
            say(console, *statements(only.certificate))
        say(console, f"certificates and certified_accuracy.png are in {path}")
