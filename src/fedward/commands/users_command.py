"""``fedward users``: what each user has spent, where users protect themselves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fedward.base.strict_json import parse
from fedward.base.validate import InvalidValue, one_of, open_unit
from fedward.commands.output import AsJson
from fedward.privacy import ACCOUNTANTS
from fedward.privacy.caveats import add_caveat
from fedward.privacy.rounding import epsilon_text
from fedward.privacy.user_guarantees import Guarantees
from fedward.report.terminal.console import plain_console, say, table
from fedward.rundir.manifest import Manifest
from fedward.rundir.place import require_run
from fedward.rundir.server_looks import add_looks
from fedward.rundir.store import RunDirectory

Run = Annotated[Path, typer.Argument(help="The run directory.")]
User = Annotated[int | None, typer.Option("--user", help="Only this user, by its number in the data.")]
Delta = Annotated[float | None, typer.Option("--delta", help="δ; that of the run if not given.")]
Accountant = Annotated[
    str | None,
    typer.Option("--accountant", help="moments (the papers'), rdp or pld; that of the run if not given."),
]
_ROWS = 12


def users(
    run: Run,
    user: User = None,
    delta: Delta = None,
    accountant: Accountant = None,
    as_json: AsJson = False,
) -> None:
    """What each user of a run has spent on its own device."""
    require_run(run)
    _require_stated(run)
    ledgers = RunDirectory(run).user_ledgers()
    if ledgers is None:
        raise InvalidValue(f"{run} holds no users.json: no user there relies on its own noise alone")
    delta = open_unit("delta", _accounting_of_run(run, "delta") if delta is None else delta)
    accountant = _accounting_of_run(run, "accountant") if accountant is None else accountant
    one_of("accountant", accountant, ACCOUNTANTS)
    manifest = _manifest(run)
    caveat = "" if manifest is None else manifest.all_caveats
    central = RunDirectory(run).ledger() if (run / "ledger.json").exists() else None
    if user is not None:
        own = add_looks(ledgers.guarantee(user, delta, accountant), ledgers, central)
        guarantee = add_caveat(own, caveat)
        print(json.dumps(guarantee.to_json()) if as_json else str(guarantee))
        return
    found = ledgers.guarantees(delta, accountant)
    worst = add_caveat(add_looks(found.worst, ledgers, central), caveat)
    if as_json:
        print(json.dumps(found.to_json() | {"guarantee": worst.to_json()}))
        return
    console = plain_console()
    console.print(_table(found))
    say(console, str(found), f"the released models: {worst}")


def _require_stated(run: Path) -> None:
    """Refuses a run whose result states another ε than its ledgers come to; they can be read without it."""
    manifest = _manifest(run)
    if manifest is not None and None not in (manifest.delta, manifest.accountant):
        RunDirectory(run).result()


def _accounting_of_run(run: Path, name: str) -> Any:
    """What the run itself is accounted with, so that both say the same."""
    file = run / "run.json"
    try:
        content = parse(file.read_text(encoding="utf8"), str(file))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} cannot be read as text: {error}") from error
    if not isinstance(content, dict) or name not in content:
        raise InvalidValue(f"{file} does not say which {name} the run has: give --{name}")
    return content[name]


def _manifest(run: Path) -> Manifest | None:
    """What is run; None where that is damaged: the ledgers can be read without it."""
    try:
        return RunDirectory(run).manifest()
    except InvalidValue:
        return None


def _table(found: Guarantees) -> Table:
    """How many users have spent how much, in at most so many rows."""
    histogram = list(found.histogram())
    step = -(-len(histogram) // _ROWS)
    rows = []
    for start in range(0, len(histogram), step):
        together = histogram[start : start + step]
        ends = dict.fromkeys((together[0][0], together[-1][0]))
        rows.append((" to ".join(map(_epsilon, ends)), f"{sum(count for _, count in together):,}"))
    return table(["ε", "users"], rows, left=0)


def _epsilon(value: float) -> str:
    return epsilon_text(value) if math.isfinite(value) else "none"
