"""The command line: ``fedward run``, ``fedward epsilon``, ``fedward calibrate``, ``fedward ledger``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from dp_accounting import DpEvent
from rich.console import Console

from fedward.core.algorithm import Algorithm
from fedward.core.types import Sampler
from fedward.core.validate import InvalidValue, one_of, positive, whole
from fedward.experiment import config
from fedward.experiment.runner import prepare, run
from fedward.experiment.store import open_run
from fedward.local import FullGradient
from fedward.presets import user_dp_fedavg
from fedward.privacy import ledger_file
from fedward.privacy.accountants import ACCOUNTANTS
from fedward.privacy.calibrate import noise_for, rounds_for
from fedward.report import terminal
from fedward.sampling import FixedSizeSampler, PoissonSampler
from fedward.version import __version__

T = TypeVar("T")

app = typer.Typer(
    help="Differentially private federated learning under attack.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Noise = Annotated[
    float | None, typer.Option("--noise-multiplier", help="z: noise over clip bound, the papers' σ.")
]
Rate = Annotated[float | None, typer.Option("--sampling-rate", help="q: Poisson sampling; 1 is everyone.")]
Cohort = Annotated[int | None, typer.Option("--cohort-size", help="m: exactly m users, with --users.")]
Users = Annotated[int | None, typer.Option("--users", help="N, for --cohort-size.")]
Steps = Annotated[int | None, typer.Option("--steps", help="T: how many rounds.")]
Delta = Annotated[float, typer.Option("--delta", help="δ.")]
Accountant = Annotated[str, typer.Option("--accountant", help="moments (the papers'), rdp or pld.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(help="The experiment file (TOML).")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The run directory; runs/NAME of the file if not given.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Where data sets lie; else FEDWARD_DATA.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or go on with it where it was left."""
    setup = prepare(config.read(file), data)
    directory_path = out or Path("runs") / file.stem
    console = Console(stderr=as_json)
    terminal.heading(console, setup, directory_path)
    with open_run(directory_path) as directory:
        terminal.progress(console, setup, run(setup, directory))
        result = directory.result()
        assert result is not None  # a run that ends without an error has one
        records = directory.metrics()
    if as_json:
        print(
            json.dumps(result | {"epsilon": result["guarantee"]["epsilon"], "directory": str(directory_path)})
        )
    else:
        terminal.result(console, setup, result, records)


@app.command()
def epsilon(
    delta: Delta,
    steps: Steps = None,
    noise_multiplier: Noise = None,
    sampling_rate: Rate = None,
    cohort_size: Cohort = None,
    users: Users = None,
    accountant: Accountant = "pld",
    as_json: AsJson = False,
) -> None:
    """What a training with this noise and sampling spends."""
    sampler, num_users = _sampler(sampling_rate, cohort_size, users)
    z = positive("noise multiplier", _given("--noise-multiplier", noise_multiplier))
    rounds = whole("steps", _given("--steps", steps))
    one_of("accountant", accountant, ACCOUNTANTS)
    guarantee = _algorithm(sampler, num_users, z).guarantee(num_users, rounds, delta, accountant)
    _answer(as_json, guarantee.to_json(), str(guarantee))


@app.command()
def calibrate(
    epsilon: Annotated[float, typer.Option("--epsilon", help="ε that may be spent.")],
    delta: Delta,
    steps: Steps = None,
    noise_multiplier: Noise = None,
    sampling_rate: Rate = None,
    cohort_size: Cohort = None,
    users: Users = None,
    accountant: Accountant = "pld",
    as_json: AsJson = False,
) -> None:
    """The least noise for a number of steps, or the most steps for a noise, within ε."""
    sampler, num_users = _sampler(sampling_rate, cohort_size, users)
    one_of("accountant", accountant, ACCOUNTANTS)
    if (steps is None) == (noise_multiplier is None):
        raise InvalidValue("give either --steps, to get the noise, or --noise-multiplier, to get the steps")

    def event(z: float) -> DpEvent:
        return _algorithm(sampler, num_users, z).round_event(num_users)

    if noise_multiplier is None:
        rounds = whole("steps", _given("--steps", steps))
        z = noise_for(epsilon, delta, event, rounds, accountant, sampler.adjacency)
        wanted = f"noise multiplier {z:.4f} for {rounds} steps"
    else:
        z = positive("noise multiplier", noise_multiplier)
        rounds = rounds_for(epsilon, delta, event(z), accountant, sampler.adjacency)
        wanted = f"{rounds} steps with noise multiplier {z:g}"
    guarantee = _algorithm(sampler, num_users, z).guarantee(num_users, rounds, delta, accountant)
    answer = guarantee.to_json() | {"noise_multiplier": z, "steps": rounds, "target_epsilon": epsilon}
    _answer(as_json, answer, f"{wanted}\n{guarantee}")


@app.command()
def ledger(
    file: Annotated[Path, typer.Argument(help="A ledger.json of a run.")],
    as_json: AsJson = False,
) -> None:
    """Recompute what a ledger file claims, from the file alone."""
    try:
        text = file.read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} cannot be read: {error}") from error
    spent, _ = ledger_file.loads(text)
    checks = ledger_file.verify(text)
    terminal.ledger(Console(stderr=as_json), spent, checks)
    if as_json:
        print(json.dumps({"holds": all(c.holds for c in checks)}))
    if not all(check.holds for check in checks):
        raise typer.Exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fedward {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point: errors that a person can mend are one message, not a traceback."""
    try:
        app()
    except InvalidValue as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'file'}: {error.strerror or error}")


def _fail(message: str) -> NoReturn:
    Console(stderr=True).print(
        "error: ", message, style="red", markup=False, highlight=False, soft_wrap=True, sep=""
    )
    sys.exit(2)


def _sampler(sampling_rate: float | None, cohort_size: int | None, users: int | None) -> tuple[Sampler, int]:
    """The sampler that the options describe, and the number of users."""
    if (sampling_rate is None) == (cohort_size is None):
        raise InvalidValue("give either --sampling-rate, or --cohort-size with --users")
    if sampling_rate is not None:
        return PoissonSampler(rate=sampling_rate), 1
    num_users = whole("users", _given("--users", users))
    sampler = FixedSizeSampler(size=_given("--cohort-size", cohort_size))
    sampler.check(num_users)
    return sampler, num_users


def _algorithm(sampler: Sampler, num_users: int, noise_multiplier: float) -> Algorithm:
    """What is accounted for: a noisy mean of clipped updates. Its bound and local training do not matter."""
    return user_dp_fedavg(
        num_users=num_users,
        sampler=sampler,
        local=FullGradient(),
        clip_bound=1.0,
        noise_multiplier=noise_multiplier,
    )


def _given(option: str, value: T | None) -> T:
    if value is None:
        raise InvalidValue(f"the option {option} is missing")
    return value


def _answer(as_json: bool, content: dict[str, Any], text: str) -> None:
    if as_json:
        print(json.dumps(content))
    else:
        Console().print(text, highlight=False, soft_wrap=True)
