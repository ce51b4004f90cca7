"""``fedward ledger``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fedward.base.limited_files import read_text
from fedward.base.validate import InvalidValue, whole
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from fedward.privacy import Guarantee, Ledger


@grouped
def ledger(
    file: Annotated[Path, Argument(help="A ledger.json, or the directory of a run that has one.")],
    devices_per_person: Annotated[
        int, Option(help="k: how many users one person may be; what each claim is worth to a person.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Recompute what a ledger file claims, from the file alone."""
    from fedward.privacy import ledger_file
    from fedward.reports.terminal import ledger_lines as report

    place = _file(file)
    try:
        text = read_text(place)
    except FileNotFoundError:
        raise InvalidValue(f"{place} cannot be read: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{place} cannot be read: {error}") from error
    try:
        spent, _ = ledger_file.loads(text)
    except InvalidValue as error:
        other = "" if place.name == "ledger.json" else "; give a run directory, or the ledger.json in it"
        raise InvalidValue(f"{place} cannot be used: {error}{other}") from error
    _require_as_written(place)
    checks = ledger_file.verify(text)
    so_far = None if checks else _so_far(place.parent, spent)
    holds = all(check.holds for check in checks)
    several = whole("devices per person", devices_per_person) > 1
    persons = [
        spent.guarantee(each.claimed.delta, "pld", devices_per_person) for each in (checks if several else [])
    ]
    if as_json:
        # JSON has no infinity.
        finite = [each.recomputed if math.isfinite(each.recomputed) else None for each in checks]
        claims = [each.claimed.to_json() | {"recomputed": ε} for each, ε in zip(checks, finite, strict=True)]
        content = report.record(spent, checks, so_far) | {"claims": claims}
        if persons:
            content["persons"] = [each.to_json() for each in persons]
        answer(True, {"holds": holds, "rounds": spent.rounds, **content})
    else:
        report.print_ledger(plain_console(), spent, checks, so_far)
        for each in persons:
            say(plain_console(), f"of a person: {each}")
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


def _require_as_written(place: Path) -> None:
    """Raises if the ledger lies in a run directory whose digests say something else."""
    from fedward.rundir.damage import require_undamaged
    from fedward.rundir.own_files import require_own_files

    if (place.parent / "run.json").is_file():
        require_own_files(place.parent)
        require_undamaged(place.parent, has_digests=False, needed=lambda name: name == place.name)


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
