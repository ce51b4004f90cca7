"""``fedward check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fedward.base.validate import InvalidValue
from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from fedward.config.experiment import Experiment
    from fedward.rundir.arena_record import RefusedCell
    from fedward.studies.training.setup import Setup


@grouped
def check_command(
    asked: Asked,
    replicas: Annotated[
        int | None, Option("--replicas", "-m", help="As fedward replicas or certify would train it.")
    ] = None,
    no_calibration: Annotated[
        bool, Option("--no-calibration", help="Train nothing; then no time is estimated.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check an experiment file and say what it would do and cost. Nothing is written."""
    from fedward.config import experiment as config
    from fedward.config.arena_section import read_arena
    from fedward.config.sweep_section import read_sweep
    from fedward.forecast.forecast import forecast, forecast_sweep
    from fedward.reports.arena_words import refused_words
    from fedward.reports.terminal.forecast_table import (
        print_forecast,
        print_sweep_forecast,
        record,
        sweep_record,
    )
    from fedward.studies.arena.arena_study import plan_arena
    from fedward.studies.sweep.sweep_study import plan_sweep

    compute, given = asked.compute(), asked.source()
    content, source, file = given.content, given.name, str(asked.file)
    measure, console = not no_calibration, plain_console()
    if "sweep" in content or "arena" in content:
        kind = "sweep" if "sweep" in content else "arena"
        if replicas is not None:
            raise InvalidValue(f"replicas are for one experiment, and {source} has a [{kind}]: leave out -m")
        refused: list[RefusedCell] = []
        if kind == "sweep":
            study = plan_sweep(read_sweep(content, source), asked.data)
        else:
            planned = plan_arena(read_arena(content, source), asked.data)
            study, refused = planned.first_seed(), planned.about.refused
        together = forecast_sweep(study, measure=measure, compute=compute)
        if as_json:
            told = {"refused": [each.to_json() for each in refused]} if kind == "arena" else {}
            answer(True, {"file": file, "valid": True, **sweep_record(together), **told})
        else:
            print_sweep_forecast(console, f"{source} is a valid {kind}", together)
            say(console, *(refused_words(each) for each in refused))
        return
    setup = prepare_with_place(config.from_content(content, source), source, asked.data)
    found = forecast(setup, replicas=replicas, measure=measure, compute=compute)
    if as_json:
        answer(True, {"file": file, "valid": True, **record(found)})
    else:
        print_forecast(console, f"{source} is a valid experiment", found)


def prepare_with_place(experiment: Experiment, source: str, data: Path | None) -> Setup:
    """The experiment with its data and its parts; an error says how far it came."""
    from fedward.studies.training.setup import prepare

    try:
        federation = experiment.load_data(data)
    except InvalidValue as error:
        raise InvalidValue(
            f"{source}: its data, {experiment.data.part}, cannot be loaded: {error}"
        ) from error
    try:
        return prepare(experiment, federation=federation)
    except InvalidValue as error:
        raise InvalidValue(f"{source} does not fit together: {error}") from error
