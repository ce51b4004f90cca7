"""``fedward ledger``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from fedward.base.validate import InvalidValue
from fedward.commands.output import AsJson
from fedward.privacy import Guarantee, Ledger, ledger_file
from fedward.report.terminal import ledger_lines as report
from fedward.report.terminal.console import plain_console
from fedward.rundir.place import require_run
from fedward.rundir.run_record import RunRecord
from fedward.rundir.store import RunDirectory

File = Annotated[Path, typer.Argument(help="A ledger.json, or the directory of a run that has one.")]


def ledger(file: File, as_json: AsJson = False) -> None:
    """Recompute what a ledger file claims, from the file alone."""
    place = _file(file)
    try:
        text = place.read_text(encoding="utf8")
    except FileNotFoundError:
        raise InvalidValue(f"{place} cannot be read: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{place} cannot be read: {error}") from error
    try:
        spent, _ = ledger_file.loads(text)
    except InvalidValue as error:
        raise InvalidValue(f"{place} cannot be used: {error}") from error
    checks = ledger_file.verify(text)
    so_far = None if checks else _so_far(place.parent, spent)
    holds = all(check.holds for check in checks)
    if as_json:
        claims = [check.claimed.to_json() | {"recomputed": _finite(check.recomputed)} for check in checks]
        content = report.record(spent, checks, so_far) | {"claims": claims}
        print(json.dumps({"holds": holds, "rounds": spent.rounds, **content}))
    else:
        report.print_ledger(plain_console(), spent, checks, so_far)
    if not holds:
        raise typer.Exit(1)


def _file(given: Path) -> Path:
    """The ledger of a run, where its directory is given."""
    if given.name == "users.json" and given.is_file():
        raise InvalidValue(
            f"{given} must be a ledger.json, got what each user has spent: "
            f"fedward users {given.parent} shows it"
        )
    if given.is_file() or (given.suffix == ".json" and not given.is_dir()):
        return given
    require_run(given)
    if not (given / "ledger.json").is_file():
        raise InvalidValue(f"{given} must be the directory of a run with a ledger.json, got one without")
    return given / "ledger.json"


def _finite(epsilon: float) -> float | None:
    """JSON has no infinity."""
    return epsilon if math.isfinite(epsilon) else None


def _so_far(folder: Path, spent: Ledger) -> Guarantee | None:
    """What a run has spent that is not finished; None where the ledger lies alone, or has nothing to say."""
    if not report.unfinished(spent) or not (folder / "run.json").is_file():
        return None
    manifest = RunDirectory(folder).manifest()
    if manifest.delta is None or manifest.accountant is None:
        return None
    return RunRecord(path=folder, manifest=manifest, ledger=spent).guarantee()
