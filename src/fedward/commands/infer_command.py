"""``fedward infer membership`` and ``fedward infer property``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Option

from fedward.commands.help_text import PlainCommand
from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson, answer, place
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from rich.console import Console

    from fedward.rundir.results import InferenceResult

app = typer.Typer(
    help="What models and updates give away about those who trained them.",
    no_args_is_help=True,
)


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where an attack is stored, and how it is answered."""

    out: Annotated[str | None, Option(metavar="PATH", help="The run directory; else runs/NAME-KIND.")] = None
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class Watching:
    """What a participant does to find out about a property: the fields of ``PropertyInference``."""

    attacker: Annotated[int, Option(help="The number of the user that attacks.")] = 0
    victim: Annotated[int, Option(help="The number of the user that is asked about.")] = 1
    share: Annotated[float, Option(help="Of the victim's examples with the property, if any.")] = 1.0
    batch: Annotated[
        int | None, Option(help="Examples the victim trains on in a round; else half of them.")
    ] = None
    simulated: Annotated[int, Option(help="Rounds of each kind played through in a round.")] = 2
    features: Annotated[int, Option(help="Numbers kept of each parameter of the model.")] = 500
    warm_up: Annotated[int, Option(help="First rounds that are not asked about.")] = 0


@app.command(
    "membership",
    cls=PlainCommand,
    epilog="Example: fedward infer membership experiment.toml --shadows 32",
)
@grouped
def membership_command(
    *,
    asked: Asked,
    unit: Annotated[str, Option(help="Who is in or out: an example, or a whole user.")] = "example",
    targets: Annotated[int, Option(help="How many trainings are attacked.")] = 1,
    shadows: Annotated[int, Option(help="How many the attacker trains; even.")] = 16,
    written: Written,
) -> None:
    """Was it trained on? Trains on random halves, or goes on with that, and attacks the models."""
    from fedward.api.infer_api import infer_membership
    from fedward.attacks.inference import MembershipInference
    from fedward.privacy.guarantee import Unit
    from fedward.reports.terminal import inference_tables as report

    question = MembershipInference(unit=cast(Unit, unit), targets=targets, shadows=shadows)
    compute, source, console = asked.compute(), asked.source(), plain_console(stderr=written.as_json)
    path = source.directory(place(written.out), "-membership")
    found, result = infer_membership(source, question, path, asked.data, compute, console)
    _print("membership", path, console, written, result, lambda: report.result(console, found))


@app.command(
    "property",
    cls=PlainCommand,
    epilog="Example: fedward infer property experiment.toml --property label:3",
)
@grouped
def property_command(
    *,
    asked: Asked,
    which: Annotated[
        str,
        Option(
            "--property",
            metavar="WHICH",
            help="A name in the data set, a .npy file with a bool for each training example, or label:CLASS.",
        ),
    ],
    users: Annotated[
        int | None, Option(help="Deal the data to so many: only attacker and victim have the property.")
    ] = None,
    watching: Watching,
    written: Written,
) -> None:
    """Had the victim's data a property? A participant watches the training, and asks about every round."""
    from fedward.api.infer_api import infer_property
    from fedward.attacks.inference import PropertyInference
    from fedward.reports.terminal import inference_tables as report

    question = PropertyInference(**asdict(watching))
    compute, source, console = asked.compute(), asked.source(), plain_console(stderr=written.as_json)
    path = source.directory(place(written.out), "-property")
    found, result = infer_property(source, question, which, users, path, asked.data, compute, console)
    _print("property", path, console, written, result, lambda: report.result(console, found, result.accuracy))


def _print(
    kind: str,
    path: Path,
    console: Console,
    written: Written,
    result: InferenceResult,
    show: Callable[[], None],
) -> None:
    """Prints what an attack found."""
    if written.as_json:
        answer(True, {**result.to_json(), "directory": str(path)})
        return
    show()
    say(console, f"one training: {result.statement}")
    say(console, f"{kind}.png and result.json are in {path}")
