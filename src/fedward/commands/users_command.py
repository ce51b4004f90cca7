"""``fedward users``: what each user has spent, where users protect themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fedward.base.validate import InvalidValue, one_of, open_unit
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say, table

if TYPE_CHECKING:
    from rich.table import Table

    from fedward.privacy.user_guarantees import Guarantees
    from fedward.rundir.manifest import Manifest

_ROWS = 12


@grouped
def users(
    run: Annotated[Path, Argument(help="The run directory.")],
    user: Annotated[int | None, Option(help="Only this user, by its number in the data.")] = None,
    delta: Annotated[float | None, Option(help="δ; that of the run if not given.")] = None,
    accountant: Annotated[
        str | None, Option(help="moments (the papers'), rdp or pld; that of the run if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What each user of a run has spent on its own device."""
    from fedward.privacy import ACCOUNTANTS
    from fedward.privacy.caveats import add_caveat
    from fedward.rundir.place import require_run
    from fedward.rundir.server_looks import add_looks
    from fedward.rundir.store import RunDirectory

    require_run(run)
    directory, manifest = RunDirectory(run), _manifest(run)
    if manifest is not None and None not in (manifest.delta, manifest.accountant):
        directory.result()  # refused where it states another ε than the ledgers come to
    ledgers = directory.user_ledgers()
    if ledgers is None:
        raise InvalidValue(
            f"{run} holds no users.json: no user there relies on its own noise alone; fedward ledger {run} "
            "has what all of them spent"
        )
    delta = open_unit("delta", _accounting_of_run(run, "delta") if delta is None else delta)
    accountant = _accounting_of_run(run, "accountant") if accountant is None else accountant
    one_of("accountant", accountant, ACCOUNTANTS)
    caveat = "" if manifest is None else manifest.all_caveats
    central = directory.ledger() if (run / "ledger.json").exists() else None
    if user is not None:
        own = add_looks(ledgers.guarantee(user, delta, accountant), ledgers, central)
        told = add_caveat(own, caveat)
        answer(as_json, told.to_json(), str(told))
        return
    found = ledgers.guarantees(delta, accountant)
    worst = add_caveat(add_looks(found.worst, ledgers, central), caveat)
    if as_json:
        answer(True, found.to_json() | {"guarantee": worst.to_json()})
        return
    console = plain_console()
    console.print(_table(found))
    say(console, str(found), f"the released models: {worst}")


def _accounting_of_run(run: Path, name: str) -> Any:
    """What the run itself is accounted with, so that both say the same."""
    from fedward.base.limited_files import read_text
    from fedward.base.strict_json import parse

    file = run / "run.json"
    try:
        content = parse(read_text(file), str(file))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} cannot be read as text: {error}") from error
    if not isinstance(content, dict) or name not in content:
        raise InvalidValue(f"{file} does not say which {name} the run has: give --{name}")
    return content[name]


def _manifest(run: Path) -> Manifest | None:
    """What is run; None where that is damaged: the ledgers can be read without it."""
    from fedward.rundir.store import RunDirectory

    try:
        return RunDirectory(run).manifest()
    except InvalidValue:
        return None


def _table(found: Guarantees) -> Table:
    """How many users have spent how much, in at most so many rows."""
    from fedward.privacy.rounding import epsilon_text

    histogram = list(found.histogram())
    step = -(-len(histogram) // _ROWS)
    rows = []
    for start in range(0, len(histogram), step):
        together = histogram[start : start + step]
        ends = dict.fromkeys((together[0][0], together[-1][0]))
        words = [epsilon_text(ε) if math.isfinite(ε) else "none" for ε in ends]
        rows.append((" to ".join(words), f"{sum(count for _, count in together):,}"))
    return table(["ε", "users"], rows, left=0)
