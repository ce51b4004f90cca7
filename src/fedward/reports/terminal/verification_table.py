"""A verification for people: what is damaged, what matches, what rests on trust."""

from __future__ import annotations

from rich.console import Console

from fedward.reports.terminal.console import say, table
from fedward.rundir.damage import Damage
from fedward.studies.verification.verification import Verification


def print_verification(console: Console, found: Verification) -> None:
    """A headline, a table and a line for everything that is wrong; of many runs each by itself."""
    if found.kind == "runs":
        for each in found.members:
            print_verification(console, each)
        wrong = sum(not each.holds for each in found.members)
        say(console, f"{found.path}: {len(found.members)} verified, {wrong or 'nothing'} wrong")
        return
    say(console, headline(found), style="bold")
    rows = [(each.says, "matches") for each in found.matched]
    rows += [(each.says, "rests on trust") for each in found.trusted]
    if found.kind == "sweep":
        intact = sum(each.intact for each in found.members)
        rows.append((f"{len(found.members)} trainings, each by itself", f"{intact} intact"))
    if rows:
        console.print(table(["what", "verified"], rows, left=2))
    say(console, *(f"- {line(each)}" for each in found.all_damage))
    say(console, *(str(each) for each in found.signatures), *(f"note: {note}" for note in found.notes))


def line(damage: Damage) -> str:
    """A thing that is wrong, and what to do."""
    return f"{damage}; {damage.remedy}" if damage.remedy else str(damage)


def headline(found: Verification) -> str:
    """What came of it, in a line.

    >>> from pathlib import Path
    >>> headline(Verification(path=Path("runs/first"), kind="run"))
    'runs/first: nothing is damaged that can be noticed without digests'
    """
    count = len(found.all_damage)
    if count:
        text = f"{count} thing{'s are' if count > 1 else ' is'} wrong"
    elif not found.digests.there:
        text = "nothing is damaged that can be noticed without digests"
    else:
        text = "intact"
    if found.wanted_key:
        signed = "signed by" if found.authentic else "not as it would be signed by"
        text += f", {signed} the key {found.wanted_key}"
    return f"{found.path}: {text}"
