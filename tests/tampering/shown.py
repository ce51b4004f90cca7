"""What fedward shows of a run, by every way that shows anything, and whether damage showed in it silently."""

from __future__ import annotations

import contextlib
import html
import io
import json
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import fedward
from fedward.base.validate import InvalidValue
from fuzzing.fuzzed_commands import run
from fuzzing.limited_child import carry_out

Verdict = Literal["the same", "named", "left out", "silent", "crashed"]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What one way showed: an exit code and the text."""

    code: int
    text: str


def show(folder: Path, name: str) -> dict[str, Shown]:
    """What every way shows of one run, in a process of its own; an empty answer if that did not survive."""
    answer = folder / f"{name}.shown"
    outcome = carry_out(partial(_write_all, folder, name, answer), folder)
    if outcome.problem or not answer.exists():
        return {"fedward": Shown(code=-1, text=f"{outcome.problem}: {outcome.printed[-2000:]}")}
    found: dict[str, Shown] = pickle.loads(answer.read_bytes())
    answer.unlink()
    return found


def _write_all(folder: Path, name: str, answer: Path) -> int:
    shown = {way: _captured(work) for way, work in _ways(folder, name).items()}
    answer.write_bytes(pickle.dumps(shown))
    return 0


def _ways(folder: Path, name: str) -> dict[str, Callable[[], int]]:
    place = folder / name
    commands = {
        "runs": ["runs", "--in", name],
        "runs --json": ["runs", "--in", name, "--json"],
        "report": ["report", name, "--out", "page.html"],
    }
    if (place / "ledger.json").exists():
        commands["ledger"] = ["ledger", name]
    if (place / "users.json").exists():
        commands["users"] = ["users", name]
    for file in sorted(place.glob("certificate*.json*")):
        commands[f"certificate check {file.name}"] = ["certificate", "check", f"{name}/{file.name}"]
    ways: dict[str, Callable[[], int]] = {
        way: partial(_command, folder, words) for way, words in commands.items()
    }
    for each in [place, *sorted(path.parent for path in place.glob("*/run.json"))]:
        if (each / "run.json").exists() or each == place:
            ways[f"load {each.relative_to(folder)}"] = partial(_load, each)
    return ways


def _command(folder: Path, words: list[str]) -> int:
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    code = run(words, folder)
    if page.exists():
        print(_visible(page.read_text(encoding="utf8")))
    return code


def _visible(page: str) -> str:
    """The words and numbers of a page, those of its pictures too, one piece a line."""
    page = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "\n", page)).strip()


def _load(place: Path) -> int:
    try:
        record = fedward.load(place)
        print(record)
        saved = place.parent / "saved.json"
        record.save(saved)
        print(saved.read_text(encoding="utf8"))
        for each in record.table_rows():
            print(json.dumps(each, default=str))
    except InvalidValue as error:
        print(f"error: {error}")
        return 2
    return 0


def _captured(work: Callable[[], int]) -> Shown:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = work()
        except Exception as error:
            print(f"Traceback (most recent call last): {type(error).__name__}: {error}", file=sys.stdout)
            code = 3
    return Shown(code=code, text=out.getvalue())


_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
_NAMES = re.compile(
    "damaged|cannot|must|does not hold|does not say|refused|not reproduced|missing|changed|lost|differ",
    re.IGNORECASE,
)


def judge(before: Shown, after: Shown, file: str) -> Verdict:
    """What became of the damage in one way of showing the run.

    ``silent`` is a number, or a word, that was not there before, in an answer that does not name the damage;
    ``left out`` an answer that only lacks something.
    """
    if "Traceback (most recent call last)" in after.text or after.code < 0:
        return "crashed"
    if after.text == before.text and after.code == before.code:
        return "the same"
    new = _lines(after.text) - _lines(before.text)
    if after.code != 0 and before.code == 0:
        return "named" if after.text.strip() else "silent"
    name = Path(file).name
    # Of two files that do not fit together either may be the damaged one.
    if any("damaged" in line or (_NAMES.search(line) and (name in line or after.code)) for line in new):
        return "named"
    if _numbers(after.text) - _numbers(before.text) or _letters(after.text) - _letters(before.text):
        return "silent"
    return "left out"


def _lines(text: str) -> Counter[str]:
    return Counter(text.splitlines())


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(text))


def _letters(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]{3,}", text))


def worst(verdicts: Any) -> Verdict:
    """The one that matters most, of all ways."""
    order: tuple[Verdict, ...] = ("crashed", "silent", "named", "left out", "the same")
    return min(verdicts, key=order.index)
