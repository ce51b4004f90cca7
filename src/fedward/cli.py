"""The command line: ``fedward``."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, NoReturn

import typer

from fedward.base.interrupts import Stopped, stop_on_signals
from fedward.base.validate import InvalidValue
from fedward.commands import certificate_command, infer_command, runs_command
from fedward.commands.certificate_check import check
from fedward.commands.certify_command import certify_command
from fedward.commands.check_command import check_command
from fedward.commands.ledger_command import ledger
from fedward.commands.list_command import list_command
from fedward.commands.new_command import new_command
from fedward.commands.plan_command import plan_command
from fedward.commands.pretrain_command import pretrain_command
from fedward.commands.privacy_command import calibrate, epsilon
from fedward.commands.replicas_command import replicas_command
from fedward.commands.report_command import report_command
from fedward.commands.run_command import run_command
from fedward.commands.show_command import show
from fedward.commands.sweep_command import sweep_command
from fedward.commands.users_command import users
from fedward.core.failure import TrainingFailed
from fedward.report.terminal.console import plain_console
from fedward.version import __version__

app = typer.Typer(
    help="Differentially private federated learning under attack.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("new")(new_command)
app.command("check")(check_command)
app.command("run")(run_command)
app.command("sweep")(sweep_command)
app.command("pretrain")(pretrain_command)
app.command("replicas")(replicas_command)
app.command("certify")(certify_command)
app.command("report")(report_command)
app.command()(epsilon)
app.command()(calibrate)
app.command()(ledger)
app.command("plan")(plan_command)
app.command()(users)
app.command()(show)
app.command("list")(list_command)

certificates = typer.Typer(help="How many attackers a private model provably survives.", no_args_is_help=True)
certificates.command("k")(certificate_command.k)
certificates.command("attack-cost")(certificate_command.attack_cost)
certificates.command("attackers")(certificate_command.attackers)
certificates.command("check")(check)
app.add_typer(certificates, name="certificate")
app.add_typer(infer_command.app, name="infer")
app.add_typer(runs_command.app, name="runs")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fedward {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
]


@app.callback()
def _options(version: Version = False) -> None:
    pass


def main() -> None:
    """Entry point: errors that a person can mend are one message, not a traceback."""
    try:
        with stop_on_signals():
            app()
    except Stopped as stopped:
        _stop(stopped)
    except KeyboardInterrupt:  # before the signals were taken, or after
        _stop(Stopped(signal.SIGINT))
    except (InvalidValue, TrainingFailed) as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this data or model")
    except OSError as error:
        _fail(f"{error.filename or 'the output'}: {error.strerror or error}")


def _stop(stopped: Stopped) -> NoReturn:
    print(f"{stopped}; the same command goes on where it was left", file=sys.stderr)
    # As shells have it: 130 after Ctrl-C, 143 after SIGTERM.
    sys.exit(128 + stopped.number)


def _fail(message: str) -> NoReturn:
    console = plain_console(stderr=True)
    console.print(f"error: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)
