"""``fedward new``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from fedward.base.validate import InvalidValue
from fedward.base.visible_text import visible
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer


@grouped
def new_command(
    file: Annotated[Path, Argument(help="The file to write; - prints it instead.")] = Path("experiment.toml"),
    preset: Annotated[str, Option(help="The algorithm: fedward list preset.")] = "user_dp_fedavg",
    data: Annotated[str, Option(help="The data set: fedward list data-set.")] = "digits",
    model: Annotated[str | None, Option(help="The model; one that fits the data if not given.")] = None,
    attack: Annotated[
        str | None, Option(help="An attack, if any: fedward list data-poisoning, model-poisoning.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented experiment file to start from. It runs as it is, and nothing is overwritten."""
    from fedward.base.durable_files import explain_write_errors
    from fedward.config.starter.starter import starter

    if not file.name:
        raise InvalidValue(f"the file must have a name, got the directory {str(file)!r}")
    printed = str(file) == "-"
    path = file if printed or file.suffix else file.with_suffix(".toml")
    there = InvalidValue(f"{path} is there already and is left as it is: choose another name")
    if not printed and path.exists():
        raise there
    name = "FILE" if printed else visible(str(path))  # it stands in a comment, which a line break would end
    text, content = starter(preset=preset, data=data, model=model, attack=attack, name=name)
    if model is not None or attack is not None:  # of our own choice the tests show that it fits
        _check(content, f"a starter of {preset}")
    if printed:
        print(json.dumps({"text": text}) if as_json else text, end="\n" if as_json else "")
        return
    with explain_write_errors(path):
        try:
            opened = path.open("x", encoding="utf8")
        except FileExistsError:
            raise there from None
        try:
            with opened:
                opened.write(text)
        except BaseException:  # what could not be written whole is not left in the way of the next attempt
            path.unlink(missing_ok=True)
            raise
    answer(
        as_json,
        {"file": str(path), "text": text},
        f"wrote {path}: {preset} on {data}",
        f"next: fedward check {path}, then fedward run {path}",
    )


def _check(content: dict[str, Any], source: str) -> None:
    """Says now what does not fit together, as far as it is known without the files of the data."""
    from fedward.config.experiment import from_content
    from fedward.config.listing import DATASETS, needs_files
    from fedward.studies.training.setup import prepare

    experiment = from_content(content, source)
    if not needs_files(DATASETS[experiment.data.part]):
        prepare(experiment)
