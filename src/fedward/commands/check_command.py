"""``fedward check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fedward.base.validate import InvalidValue
from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson
from fedward.config import experiment as config
from fedward.config.experiment import Experiment
from fedward.config.sweep_section import read_sweep
from fedward.forecast.forecast import forecast
from fedward.forecast.sweep_forecast import forecast_sweep
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.forecast_table import print_forecast, print_sweep_forecast, record, sweep_record
from fedward.studies.sweep.sweep_study import prepare_sweep
from fedward.studies.training.setup import Setup, prepare

Count = Annotated[
    int | None, typer.Option("--replicas", "-m", help="As fedward replicas or certify would train it.")
]
NoCalibration = Annotated[
    bool, typer.Option("--no-calibration", help="Train nothing; then no time is estimated.")
]


@grouped
def check_command(
    asked: Asked, replicas: Count = None, no_calibration: NoCalibration = False, as_json: AsJson = False
) -> None:
    """Check an experiment file and say what it would do and cost. Nothing is written."""
    compute, given = asked.compute(), asked.source()
    content, source, file = given.content, given.name, str(asked.file)
    measure = not no_calibration
    console = plain_console()
    if "sweep" in content:
        if replicas is not None:
            raise InvalidValue(f"replicas are for one experiment, and {source} has a [sweep]: leave out -m")
        sweep = read_sweep(content, source)
        together = forecast_sweep(sweep, prepare_sweep(sweep, asked.data), measure=measure, compute=compute)
        if as_json:
            print(json.dumps({"file": file, "valid": True, **sweep_record(together)}))
        else:
            print_sweep_forecast(console, f"{source} is a valid sweep", together)
        return
    setup = prepare_with_place(config.from_content(content, source), source, asked.data)
    found = forecast(setup, replicas=replicas, measure=measure, compute=compute)
    if as_json:
        print(json.dumps({"file": file, "valid": True, **record(found)}))
    else:
        print_forecast(console, f"{source} is a valid experiment", found)


def prepare_with_place(experiment: Experiment, source: str, data: Path | None) -> Setup:
    """The experiment with its data and its parts; an error says how far it came."""
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
