"""``fedward flower``: a federation of real parties over Flower."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from fedward.base.validate import InvalidValue
from fedward.base.visible_text import visible
from fedward.commands.help_text import PlainCommand
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer

app = typer.Typer(
    help="Train in a federation of real parties, over Flower.",
    no_args_is_help=True,
)


@app.command(
    cls=PlainCommand, epilog="Example: fedward flower new hospitals --file experiment.toml --nodes 5"
)
@grouped
def new(
    directory: Annotated[Path, Argument(metavar="DIR", help="The directory to make.")],
    file: Annotated[Path, Option(help="The experiment file.")],
    nodes: Annotated[int, Option(help="How many nodes there are.")] = 3,
    data: Annotated[Path | None, Option(help="Where data sets lie.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a Flower app for an experiment, the server's file, a node's rules, and every command."""
    from fedward.base.durable_files import explain_write_errors, make_directory
    from fedward.deploy.app_experiment import read_experiment
    from fedward.deploy.scaffold.app_files import app_files

    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InvalidValue(f"{directory} is there already and is left as it is: choose another name")
    experiment = read_experiment(file)
    texts = app_files(
        experiment, file.read_text(encoding="utf8"), experiment.load_data(data), directory, nodes
    )
    for path, text in texts.items():
        place = directory / path
        with explain_write_errors(place):
            make_directory(place.parent)
            place.write_text(text, encoding="utf8")
    shown = visible(str(directory))
    answer(
        as_json,
        {"directory": str(directory), "files": sorted(texts)},
        f"wrote {shown}: {len(texts)} files for {nodes} nodes",
        f"next: {shown}/README.md has every command",
    )


@app.command(cls=PlainCommand, epilog="Example: fedward flower check server/federation.toml")
@grouped
def check(
    file: Annotated[Path, Argument(metavar="FILE", help="The server's file, or a node's rules.")],
    as_json: AsJson = False,
) -> None:
    """Check the server's file, or a node's rules, and the modes of the keys beside them."""
    from fedward.deploy.file_check import check_file

    found = check_file(file)
    answer(as_json, {"file": str(file), "says": list(found)}, *found)


@app.command(cls=PlainCommand, epilog="Example: fedward flower ledger nodes/node-0/rules.toml")
@grouped
def ledger(
    file: Annotated[Path, Argument(metavar="FILE", help="A node's rules.")],
    as_json: AsJson = False,
) -> None:
    """What the users of a node have spent, of the budget that its rules give them."""
    from fedward.deploy.node.node_report import report_ledger

    found = report_ledger(file)
    answer(as_json, found.to_json(), *found.lines())
