"""Writes what follows from the code into the pages of docs/algorithms and others, between their markers.

    <!-- keys: preset krum -->    the keys of a preset or part: defaults, allowed values, meaning
    <!-- keys: [privacy] -->      the keys of another table of the experiment file: defaults, meaning
    <!-- parts: sampler -->       all parts of a kind: one line each, and where more is said
    <!-- check -->                what ``fedward check`` says about the privacy of the page's experiment file

Each ends with ``<!-- end -->``. ``--check`` writes nothing and names the pages that are out of date.
"""

from __future__ import annotations

import inspect
import io
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from fedward.config import experiment as config
from fedward.config.attack_section import AttackSection
from fedward.config.compute_section import ComputeSection
from fedward.config.listing import KINDS, PRESETS
from fedward.config.sections import Section
from fedward.forecast.forecast import forecast
from fedward.reports.terminal.forecast_table import print_forecast
from fedward.studies.training.setup import Setup, prepare

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "algorithms"
MORE_PAGES = (ROOT / "docs" / "experiment-files.md",)
WORDS = runpy.run_path(str(Path(__file__).with_name("algorithm_keys.py")))

_MARKED = re.compile(
    r"^<!-- (keys|parts|check)(?:: ([^\n]+?))? -->\n.*?^<!-- end -->$", re.DOTALL | re.MULTILINE
)
_FILE = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# As wide as a code block that can be read without scrolling.
_WIDTH = 88

SECTIONS: dict[str, type[Section]] = {
    "[attack]": AttackSection,
    "[privacy]": config.PrivacySection,
    "[evaluation]": config.EvaluationSection,
    "[compute]": ComputeSection,
}
_SECTIONS = {
    "sampler": "samplers",
    "local trainer": "local-trainers",
    "clip policy": "clip-policies",
    "server step": "server-steps",
    "aggregator": "aggregators",
    "noise": "noise",
}
# All other kinds have a table of keys for each part, or none that a file could give.
_KEYS_IN_THE_TABLE = ("aggregator", "attacker", "data poisoning", "pattern", "feature", "model poisoning")
_CLIPPING_PAGES = {
    "fixed": "fixed",
    "polynomial": "polynomial",
    "norm_decay": "clip-norm-decay",
    "quantile": "quantile",
    "histogram_median": "histogram-median",
    "raw_median": "raw-median",
}
_PLACES: dict[str, Callable[[str], str]] = {
    "sampler": lambda name: f"[below](#{name})",
    "local trainer": lambda name: f"[below](#{name})",
    "clip policy": lambda name: (
        f"[page](../clipping/{_CLIPPING_PAGES[name]}.md)"
        if name in _CLIPPING_PAGES
        else "[below](#no-clipping)"
    ),
    "aggregator": lambda name: (
        f"[below](#{name})"
        if name in ("mean", "weighted_mean")
        else f"[page]({name}.md)"
        if name in PRESETS
        else f"[defences](../defences.md#{name})"
    ),
    "noise": lambda name: "[below](#gaussian-noise)" if name == "gaussian" else "[below](#no-noise)",
    "server step": lambda name: f"[below](#{name})",
    "attacker": lambda name: "[who attacks](../attacks/README.md#who-attacks)",
    "data poisoning": lambda name: {
        "semantic": "[bad data](../attacks/README.md#bad-data), [red cars](../attacks/README.md#red-cars)",
        "word": "[bad data](../attacks/README.md#bad-data), [sentences](../attacks/README.md#sentences)",
    }.get(name, "[bad data](../attacks/README.md#bad-data)"),
    "pattern": lambda name: "[bad data](../attacks/README.md#bad-data)",
    "feature": lambda name: (
        "[red cars](../attacks/README.md#red-cars)"
        if name == "red_car"
        else "[bad data](../attacks/README.md#bad-data)"
    ),
    "model poisoning": lambda name: "[bad updates](../attacks/README.md#bad-updates)",
}


def page_with_tables(text: str, kinds: tuple[str, ...] = ("keys", "parts", "check")) -> str:
    """The page with what stands between markers of these kinds made anew."""

    def anew(found: re.Match[str]) -> str:
        if found[1] not in kinds:
            return found[0]
        return f"{found[0].splitlines()[0]}\n\n{_made(found[1], found[2], text)}\n\n<!-- end -->"

    return _MARKED.sub(anew, text)


def _made(what: str, about: str, text: str) -> str:
    if what == "check":
        return f"```text\n{privacy_lines(prepare(config.parse(_FILE.findall(text)[0])))}\n```"
    if what == "parts":
        return parts_table(about)
    if about in SECTIONS:
        return section_table(about)
    kind, _, name = about.rpartition(" ")
    return keys_table(kind, name)


def keys_table(kind: str, name: str) -> str:
    """One row for each key of a part."""
    rows = ["| key | default | allowed | what it is |", "| --- | --- | --- | --- |"]
    for key, default in KINDS[kind].defaults(name).items():
        allowed, words = WORDS["of"](kind, name, key), _words(KINDS[kind].meaning(name, key))
        rows.append(f"| `{key}` | {_default(default)} | {_allowed(allowed, kind)} | {words} |")
    return "\n".join(rows)


def section_table(title: str) -> str:
    """One row for each key of a table of the experiment file that is no part."""
    rows = ["| key | default | what it is |", "| --- | --- | --- |"]
    for key, field in SECTIONS[title].model_fields.items():
        default = inspect.Parameter.empty if field.is_required() else field.default
        rows.append(f"| `{key}` | {_default(default)} | {_words(field.description or '')} |")
    return "\n".join(rows)


def _words(meaning: str) -> str:
    text = meaning.replace("``", "`")
    return text if text.endswith("...") else text.removesuffix(".")


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "**required**"
    if default is None or default == ():
        return "not given"
    text = str(default).lower() if isinstance(default, bool) else repr(default).replace("'", '"')
    return f"`{text}`"


def _allowed(allowed: Any, kind: str) -> str:
    if not hasattr(allowed, "names"):
        return str(allowed.words)
    where = "" if kind != "preset" else "parts.md"
    if not allowed.names:
        return f"a table: any [{allowed.kind}]({where}#{_SECTIONS[allowed.kind]})"
    names = ", ".join(f"`{name}`" for name in allowed.names)
    return f"a table: [{allowed.kind}]({where}#{_SECTIONS[allowed.kind]}) {names}"


def parts_table(kind: str) -> str:
    """One row for each part of a kind."""
    parts = KINDS[kind]
    with_keys = kind in _KEYS_IN_THE_TABLE
    keys_column = (" keys and defaults |", " --- |") if with_keys else ("", "")
    rows = [f"| name | what it is |{keys_column[0]} more |", f"| --- | --- |{keys_column[1]} --- |"]
    for name in parts.parts:
        keys = f" `{parts.keys(name)}` |" if with_keys else ""
        rows.append(f"| `{name}` | {parts.line(name)} |{keys} {_PLACES[kind](name)} |")
    return "\n".join(rows)


def privacy_lines(setup: Setup) -> str:
    """What ``fedward check`` prints about privacy by the accountant of the experiment itself."""
    found = forecast(setup, measure=False, by_others=False)
    printed = io.StringIO()
    print_forecast(Console(file=printed, width=_WIDTH), "", found)
    text = re.search(r"^  privacy .*?(?=^  time )", printed.getvalue(), re.DOTALL | re.MULTILINE)
    assert text is not None
    lines = text[0].rstrip().splitlines()
    return "\n".join(line[2:].rstrip() for line in lines)


def main() -> None:
    """Writes the pages, or with ``--check`` ends with 1 if one of them is out of date."""
    stale = []
    for path in (*sorted(PAGES.glob("*.md")), *MORE_PAGES):
        text = path.read_text(encoding="utf8")
        if (made := page_with_tables(text)) != text:
            stale.append(path.name)
            if "--check" not in sys.argv[1:]:
                path.write_text(made, encoding="utf8")
    if stale:
        print(("out of date: " if "--check" in sys.argv[1:] else "written: ") + ", ".join(stale))
    sys.exit(1 if stale and "--check" in sys.argv[1:] else 0)


if __name__ == "__main__":
    main()
