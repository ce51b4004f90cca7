"""``fedward ledger``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument

from fedward.base.validate import InvalidValue
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console

if TYPE_CHECKING:
    from fedward.privacy import Guarantee, Ledger


@grouped
def ledger(
    file: Annotated[Path, Argument(help="A ledger.json, or the directory of a run that has one.")],
    as_json: AsJson = False,
) -> None:
    """Recompute what a ledger file claims, from the file alone."""
    from fedward.privacy import ledger_file
    from fedward.reports.terminal import ledger_lines as report

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
        other = "" if place.name == "ledger.json" else "; give a run directory, or the ledger.json in it"
        raise InvalidValue(f"{place} cannot be used: {error}{other}") from error
    checks = ledger_file.verify(text)
    so_far = None if checks else _so_far(place.parent, spent)
    holds = all(check.holds for check in checks)
    if as_json:
        # JSON has no infinity.
        finite = [each.recomputed if math.isfinite(each.recomputed) else None for each in checks]
        claims = [each.claimed.to_json() | {"recomputed": ε} for each, ε in zip(checks, finite, strict=True)]
        content = report.record(spent, checks, so_far) | {"claims": claims}
        answer(True, {"holds": holds, "rounds": spent.rounds, **content})
    else:
        report.print_ledger(plain_console(), spent, checks, so_far)
    if not holds:
        raise typer.Exit(1)


def _file(given: Path) -> Path:
    """The ledger of a run, where its directory is given."""
    from fedward.rundir.place import require_run

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


def _so_far(folder: Path, spent: Ledger) -> Guarantee | None:
    """What a run has spent that is not finished; None where the ledger lies alone, or has nothing to say."""
    from fedward.reports.terminal import ledger_lines as report

    if not report.unfinished(spent) or not (folder / "run.json").is_file():
        return None
    from fedward.rundir.run_record import RunRecord
    from fedward.rundir.store import RunDirectory

    manifest = RunDirectory(folder).manifest()
    if manifest.delta is None or manifest.accountant is None:
        return None
    return RunRecord(path=folder, manifest=manifest, ledger=spent).guarantee()
