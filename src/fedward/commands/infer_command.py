"""``fedward infer membership`` and ``fedward infer property``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from fedward.attacks.inference import Membership, MembershipInference, Property, PropertyInference
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.base.durable_files import explain_write_errors
from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson, place
from fedward.config import experiment as config
from fedward.privacy.guarantee import Unit
from fedward.report.terminal import inference_tables as report
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.live_progress import follow_inference
from fedward.rundir.inference_curves import write_curves
from fedward.rundir.inference_record import PROPERTY
from fedward.rundir.results import InferenceResult, MembershipResult, PropertyResult
from fedward.studies.inference.membership_study import prepare_membership
from fedward.studies.inference.property_study import prepare_property
from fedward.studies.study import carry_out
from fedward.studies.training.setup import Setup

app = typer.Typer(
    help="What models and updates give away about those who trained them.", no_args_is_help=True
)

UnitOption = Annotated[str, typer.Option("--unit", help="Who is in or out: an example, or a whole user.")]
Targets = Annotated[int, typer.Option("--targets", help="How many trainings are attacked.")]
Shadows = Annotated[int, typer.Option("--shadows", help="How many the attacker trains; even.")]
Out = Annotated[
    str | None, typer.Option("--out", metavar="PATH", help="The run directory; else runs/NAME-KIND.")
]
Which = Annotated[
    str,
    typer.Option(
        "--property",
        metavar="WHICH",
        help="A name in the data set, a .npy file with a bool for each training example, or label:CLASS.",
    ),
]
Users = Annotated[
    int | None,
    typer.Option("--users", help="Deal the data to so many: only attacker and victim have the property."),
]
Attacker = Annotated[int, typer.Option("--attacker", help="The number of the user that attacks.")]
Victim = Annotated[int, typer.Option("--victim", help="The number of the user that is asked about.")]
Share = Annotated[float, typer.Option("--share", help="Of the victim's examples with the property, if any.")]
Batch = Annotated[
    int | None, typer.Option("--batch", help="Examples the victim trains on in a round; else half of them.")
]
Simulated = Annotated[int, typer.Option("--simulated", help="Rounds of each kind played through in a round.")]
Features = Annotated[int, typer.Option("--features", help="Numbers kept of each parameter of the model.")]
WarmUp = Annotated[int, typer.Option("--warm-up", help="First rounds that are not asked about.")]


@app.command("membership")
@grouped
def membership_command(
    asked: Asked,
    unit: UnitOption = "example",
    targets: Targets = 1,
    shadows: Shadows = 16,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Was it trained on? Trains on random halves, or goes on with that, and attacks the models."""
    wanted_attack = MembershipInference(unit=cast(Unit, unit), targets=targets, shadows=shadows)
    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-membership")
    experiment = config.from_content(source.content, source.name)
    wanted = prepare_membership(experiment, wanted_attack, asked.data)
    console = _print_heading(wanted.setup, path, compute, as_json)

    def draw(path: Path, outcome: tuple[Membership, MembershipResult]) -> None:
        found, _ = outcome
        write_curves(path, found.attacks, found.limit)
        title = f"{wanted.setup.algorithm.name}: membership of {'an' if unit == 'example' else 'a'} {unit}"
        with explain_write_errors(path / "membership.png"):
            report.draw(found.attacks, found.limit, path / "membership.png", title=title)

    found, result = carry_out(wanted, path, compute, partial(follow_inference, console), draw)
    if as_json:
        print(json.dumps({**result.to_json(), "directory": str(path)}))
        return
    report.membership(console, found)
    _print_closing(console, result, "membership.png", path)


@app.command("property")
@grouped
def property_command(
    asked: Asked,
    which: Which,
    users: Users = None,
    attacker: Attacker = 0,
    victim: Victim = 1,
    share: Share = 1.0,
    batch: Batch = None,
    simulated: Simulated = 2,
    features: Features = 500,
    warm_up: WarmUp = 0,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Had the victim's data a property? A participant watches the training, and asks about every round."""
    wanted_attack = PropertyInference(
        attacker=attacker,
        victim=victim,
        share=share,
        batch=batch,
        simulated=simulated,
        features=features,
        warm_up=warm_up,
    )
    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-property")
    experiment = config.from_content(source.content, source.name)
    wanted = prepare_property(experiment, wanted_attack, which, users=users, data_dir=asked.data)
    console = _print_heading(wanted.setup, path, compute, as_json)

    def draw(path: Path, outcome: tuple[Property, PropertyResult]) -> None:
        found, _ = outcome
        curves, setup = {PROPERTY: found.roc}, wanted.setup
        write_curves(path, curves, found.limit)
        title = f"{setup.algorithm.name}, {setup.federation.num_users} users: property inference"
        with explain_write_errors(path / "property.png"):
            report.draw(curves, found.limit, path / "property.png", title=title, logarithmic=False)

    found, result = carry_out(wanted, path, compute, partial(follow_inference, console), draw)
    if as_json:
        print(json.dumps({**result.to_json(), "directory": str(path)}))
        return
    report.property(console, found, result.accuracy)
    _print_closing(console, result, "property.png", path)


def _print_heading(setup: Setup, path: Path, compute: Compute, as_json: bool) -> Console:
    console = plain_console(stderr=as_json)
    terminal.heading(console, setup, path)
    terminal.engine(console, engine_in_words(setup.model, setup.federation, compute), path)
    return console


def _print_closing(console: Console, result: InferenceResult, picture: str, path: Path) -> None:
    console.print(f"one training: {result.statement}", highlight=False, soft_wrap=True)
    console.print(f"{picture} and result.json are in {path}", highlight=False)
