"""``fedward plan``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from fedward.base.validate import InvalidValue
from fedward.certificates.confidence import Confidence
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import NO_ACCURACY, plan
from fedward.certificates.tally import read_scores
from fedward.certificates.threat import Attendance
from fedward.commands.output import AsJson, require_option
from fedward.privacy.group import Threat
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.plan_table import in_words, picture, picture_file, table

_NOISES = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]
_RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
_ROUNDS = [1, 3, 10, 30, 100, 300]


def plan_command(
    users: Annotated[int, typer.Option("--users", help="N.")],
    k: Annotated[int, typer.Option("--k", help="How many attackers must be survived.")],
    top: Annotated[float | None, typer.Option("--top", help="F_A: expected confidence, top class.")] = None,
    runner_up: Annotated[
        float | None, typer.Option("--runner-up", help="F_B: the next one; 1 - F_A if not given.")
    ] = None,
    confidences: Annotated[
        Path | None,
        typer.Option("--confidences", help="certificate-scores.npz of a finished run, instead of F_A."),
    ] = None,
    psi: Annotated[float, typer.Option("--psi", help="ψ: error of the bounds on stored scores.")] = 0.01,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", help="How stored scores are bounded; betting, or clopper_pearson for votes."
        ),
    ] = None,
    share: Annotated[
        float, typer.Option("--share", help="Of the stored examples, how many must be certified.")
    ] = 0.5,
    threat: Annotated[str, typer.Option("--threat", help="inject, present or compromise.")] = "inject",
    attendance: Annotated[
        str, typer.Option("--attendance", help="Attackers are drawn, or there every-round.")
    ] = "drawn",
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="ε that may be spent.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="δ, for ε.")] = None,
    noise_multiplier: Annotated[
        list[float], typer.Option("--noise-multiplier", help="z of the grid; repeat it.")
    ] = _NOISES,
    sampling_rate: Annotated[
        list[float], typer.Option("--sampling-rate", help="q of the grid; repeat it.")
    ] = _RATES,
    rounds: Annotated[list[int], typer.Option("--rounds", help="T of the grid; repeat it.")] = _ROUNDS,
    out: Annotated[Path | None, typer.Option("--picture", help="Draw it: a .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Which noise, sampling rate and number of rounds would certify k attackers."""
    if (top is None) == (confidences is None):
        raise InvalidValue("give either --top, or --confidences")
    if confidences is not None and runner_up is not None:
        raise InvalidValue("--runner-up belongs to --top, got it with --confidences")
    if out is not None:
        picture_file(out)
    first, second = (
        _bounds_from_scores(confidences, method, psi)
        if confidences is not None
        else _bounds_from_options(require_option("--top", top), runner_up)
    )
    goal = Goal(
        users=users,
        k=k,
        top=first,
        runner_up=second,
        threat=cast(Threat, threat),
        attendance=cast(Attendance, attendance),
        share=share,
        epsilon=epsilon,
        delta=delta,
    )
    options = plan(goal, noise_multiplier, sampling_rate, rounds)
    drawn = out is not None and bool(options)
    if out is not None and options:
        picture(goal, options, out)
    if as_json:
        content = {
            "goal": in_words(goal),
            "k": k,
            "threat": threat,
            "users": users,
            "options": [option.to_json() for option in options],
            "tried": len(set(noise_multiplier)) * len(set(sampling_rate)) * len(set(rounds)),
            "predicts_accuracy": False,
            "note": NO_ACCURACY,
        }
        print(json.dumps(content | {"picture": str(out) if drawn else None}))
        return
    console = plain_console()
    console.print(in_words(goal), highlight=False, soft_wrap=True)
    if options:
        console.print(table(goal, options))
    else:
        console.print("nothing on this grid certifies it; try more noise, a lower rate or fewer rounds")
    console.print(NO_ACCURACY, highlight=False, soft_wrap=True)


def _bounds_from_options(top: float, runner_up: float | None) -> tuple[float, float]:
    if runner_up is None and top <= 0.5:
        raise InvalidValue(
            f"--top must be above 0.5 where --runner-up is not given, which is 1 - F_A then, got {top:g}"
        )
    return top, 1.0 - top if runner_up is None else runner_up


def _bounds_from_scores(
    file: Path, method: str | None, psi: float
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Bounds from stored scores. An example whose top class is wrong counts as not certified."""
    try:
        replicas = read_scores(file.read_bytes())
    except InvalidValue as error:
        raise InvalidValue(
            f"--confidences must be a certificate-scores.npz of fedward certify, got {file}: {error}"
        ) from error
    method = method or ("clopper_pearson" if replicas.score == "vote" else "betting")
    bounds = Confidence(looks=(len(replicas),), method=method, error=psi).bounds(replicas)
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    if replicas.labels is not None:
        wrong = bounds.top != replicas.labels
        lower[wrong], upper[wrong] = 0.0, 1.0
    return lower, upper
