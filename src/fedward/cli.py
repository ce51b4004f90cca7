"""The command line: ``fedward``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, NoReturn

import typer

from fedward.base.interrupts import Stopped, stop_on_signals
from fedward.base.validate import InvalidValue
from fedward.base.visible_text import visible
from fedward.commands import certificate_command, flower_command, infer_command, runs_command
from fedward.commands.arena_command import arena_command
from fedward.commands.audit_command import audit_command
from fedward.commands.certificate_check import check
from fedward.commands.certify_command import certify_command
from fedward.commands.check_command import check_command
from fedward.commands.help_text import PlainCommand, Sections
from fedward.commands.ledger_command import ledger
from fedward.commands.list_command import list_command
from fedward.commands.merge_command import merge_command
from fedward.commands.new_command import new_command
from fedward.commands.plan_command import plan_command
from fedward.commands.pretrain_command import pretrain_command
from fedward.commands.privacy_command import calibrate, epsilon
from fedward.commands.replicas_command import replicas_command
from fedward.commands.report_command import report_command
from fedward.commands.run_command import run_command
from fedward.commands.show_command import show
from fedward.commands.sign_command import sign_command
from fedward.commands.sweep_command import sweep_command
from fedward.commands.users_command import users
from fedward.commands.verify_command import verify_command
from fedward.commands.weights_command import weights_command
from fedward.core.failure import TrainingFailed
from fedward.reports.terminal.console import plain_console, say
from fedward.version import __version__

_TRAINING = "--noise-multiplier 3 --sampling-rate 0.1 --rounds 3"

# The commands that store what they do: the same one goes on where it was left.
RESUMED = frozenset({"arena", "audit", "certify", "infer", "pretrain", "replicas", "run", "sweep"})

# Each command, its function and an example, in the sections of the help.
COMMANDS: dict[str, dict[str, tuple[Callable[..., None], str]]] = {
    "Experiments": {
        "new": (new_command, "fedward new experiment.toml --preset user_dp_fedavg --data digits"),
        "check": (check_command, "fedward check experiment.toml"),
        "run": (run_command, "fedward run experiment.toml --set rounds=20"),
        "sweep": (sweep_command, "fedward sweep sweep.toml"),
        "arena": (arena_command, "fedward arena arena.toml"),
        "merge": (merge_command, "fedward merge part-0 part-1 --out runs/whole"),
        "pretrain": (pretrain_command, "fedward pretrain public.toml --out weights/public.pt"),
    },
    "Results": {
        "report": (report_command, "fedward report runs/experiment --out report.html"),
        "show": (show, "fedward show krum"),
        "verify": (verify_command, "fedward verify runs/experiment"),
        "sign": (sign_command, "fedward sign runs/experiment --key mine.pem"),
        "weights": (weights_command, "fedward weights runs/experiment model.safetensors"),
        "list": (list_command, "fedward list preset"),
    },
    "Privacy": {
        "epsilon": (epsilon, f"fedward epsilon {_TRAINING} --delta 1e-5"),
        "calibrate": (
            calibrate,
            "fedward calibrate --epsilon 2 --delta 1e-5 --sampling-rate 0.1 --rounds 100",
        ),
        "ledger": (ledger, "fedward ledger runs/experiment"),
        "users": (users, "fedward users runs/experiment --user 3"),
        "audit": (audit_command, "fedward audit experiment.toml --runs 2000"),
    },
    "Certificates": {
        "replicas": (replicas_command, "fedward replicas experiment.toml -m 100"),
        "certify": (certify_command, "fedward certify experiment.toml -m 1000"),
        "plan": (plan_command, "fedward plan --k 3 --epsilon 2 --pilot FILE"),
    },
}
CERTIFICATE: dict[str, tuple[Callable[..., None], str]] = {
    "k": (certificate_command.k, f"fedward certificate k --top 0.9 {_TRAINING}"),
    "attack-cost": (
        certificate_command.attack_cost,
        f"fedward certificate attack-cost --cost 0.3 --cost-bound 0.5 --attackers 2 {_TRAINING}",
    ),
    "attackers": (
        certificate_command.attackers,
        f"fedward certificate attackers --cost 0.3 --cost-bound 0.5 --tau 2 {_TRAINING}",
    ),
    "check": (check, "fedward certificate check runs/experiment-certified/certificate.json"),
}


class _Sections(Sections):
    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Experiments": (*COMMANDS["Experiments"], "flower"),
        "Results": (*COMMANDS["Results"], "runs"),
        "Privacy": (*COMMANDS["Privacy"], "infer"),
        "Certificates": (*COMMANDS["Certificates"], "certificate"),
    }


app = typer.Typer(
    help="Differentially private federated learning under attack.",
    cls=_Sections,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
certificates = typer.Typer(help="How many attackers a private model provably survives.", no_args_is_help=True)
for _name, (_function, _example) in (pair for each in COMMANDS.values() for pair in each.items()):
    app.command(_name, cls=PlainCommand, epilog=f"Example: {_example}")(_function)
for _name, (_function, _example) in CERTIFICATE.items():
    certificates.command(_name, cls=PlainCommand, epilog=f"Example: {_example}")(_function)
app.add_typer(certificates, name="certificate")
app.add_typer(infer_command.app, name="infer")
app.add_typer(runs_command.app, name="runs")
app.add_typer(flower_command.app, name="flower")


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
    resumed = sys.argv[1:2] and sys.argv[1] in RESUMED and "--self-test" not in sys.argv
    print(f"{stopped}; the same command goes on where it was left" if resumed else stopped, file=sys.stderr)
    # As shells have it: 130 after Ctrl-C, 143 after SIGTERM.
    sys.exit(128 + stopped.number)


def _fail(message: str) -> NoReturn:
    # Behind the first line a message is indented: no name with a line break can pass for another message.
    first, *more = visible(message, lines=True).split("\n")
    shown = [first, *(line if line.startswith("  ") else f"  {line}" for line in more)]
    say(
        plain_console(stderr=True),
        *(f"error: {line}" if line is first else line for line in shown),
        style="red",
    )
    sys.exit(2)
