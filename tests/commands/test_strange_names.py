"""Names of bytes, escapes and line breaks in every command that reads or writes runs: shown, never obeyed."""

from __future__ import annotations

import csv
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from tiny_experiment import TEXT

EVIL = os.fsdecode(b"\xff\x1b[2J\n\xe2\x80\xaefedward")
SHOWN = r"\xff\x1b[2J\n\u202efedward"


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(TEXT.replace("rounds = 2", "rounds = 1"), encoding="utf8")
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def require_plain(*texts: str) -> None:
    for text in texts:
        text.encode()
        assert not set(text) & set("\x1b\r\u202e\x9b")


def test_a_run_with_such_a_name_is_trained_listed_compared_reported_and_exported(fedward: Any) -> None:
    ran = fedward("run", "a.toml", "--out", f"all/{EVIL}", "--workers", 0)
    assert (ran.code, ran.err) == (0, "")
    assert f"run directory all/{SHOWN}\n" in ran.out
    again = fedward("run", "a.toml", "--out", f"all/{EVIL}", "--workers", 0)
    assert fedward("run", "a.toml", "--out", "all/plain", "--workers", 0).code == 0
    listed = fedward("runs", "--in", "all")
    compared = fedward("runs", "compare", f"all/{EVIL}", "all/plain", "--all")
    reported = fedward("report", f"all/{EVIL}", "--out", f"{EVIL}.html")
    exported = fedward("runs", "export", f"{EVIL}.csv", "--in", "all")
    made = fedward("new", f"{EVIL}.toml")
    ledger = fedward("ledger", f"all/{EVIL}")
    for each in (ran, again, listed, compared, reported, exported, made, ledger):
        assert each.code == 0, each
        require_plain(each.out, each.err)
        assert not any(line.startswith("\u202e") for line in each.out.splitlines())
    rows = [line for line in listed.out.splitlines() if " digits " in line]
    assert [row.split()[0] for row in rows] == ["plain", SHOWN]
    assert SHOWN in compared.out
    # Its name stands in comments of the file, and cannot add a key to it.
    assert fedward("check", f"{EVIL}.toml", "--no-calibration").code == 0
    assert f"{SHOWN}.html: open it" in reported.out
    assert f"2 runs written to {SHOWN}.csv\n" == exported.out
    assert Path(f"{EVIL}.html").read_text(encoding="utf8").startswith("<!")
    with Path(f"{EVIL}.csv").open(encoding="utf8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2


def test_json_is_ascii_and_gives_the_name_back(fedward: Any) -> None:
    ran = fedward("run", "a.toml", "--out", f"all/{EVIL}", "--workers", 0, "--json")
    listed = fedward("runs", "--in", "all", "--json")
    assert (ran.out + listed.out).isascii()
    assert ran.json()["directory"] == f"all/{EVIL}"
    assert [run["run"] for run in listed.json()["runs"]] == [f"all/{EVIL}"]


@pytest.mark.parametrize(
    "words",
    [
        ("run", f"{EVIL}.toml"),
        ("runs", "--in", EVIL),
        ("runs", "compare", EVIL, "a"),
        ("report", EVIL),
        ("report", EVIL, "--out", "x.html"),
        ("ledger", EVIL),
        ("users", EVIL),
        ("show", EVIL),
        ("new", f"none/{EVIL}.toml"),
        ("certificate", "check", EVIL),
        (EVIL,),
        ("runs", f"--{EVIL}"),
        ("run", "a.toml", EVIL),
        ("list", EVIL),
    ],
)
def test_an_error_shows_the_name_and_begins_one_message(fedward: Any, words: tuple[str, ...]) -> None:
    code, out, err = fedward(*words)
    assert code == 2
    require_plain(out, err)
    assert r"\x1b[2J" in err
    assert not any(line.lstrip("\u202e").startswith("fedward") for line in err.splitlines())


@pytest.mark.parametrize("long", ["x" * 300, "/".join(["x" * 200] * 40)], ids=["name", "path"])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "LONG.toml"),
        ("run", "a.toml", "--out", "LONG", "--workers", "0"),
        ("runs", "--in", "LONG"),
        ("runs", "export", "LONG.csv", "--in", "all"),
        ("runs", "compare", "LONG", "all/a"),
        ("report", "LONG"),
        ("report", "all/a", "--out", "LONG.html"),
        ("new", "LONG.toml"),
        ("ledger", "LONG"),
        ("users", "LONG"),
        ("certificate", "check", "LONG"),
    ],
    ids=" ".join,
)
def test_a_path_that_is_too_long_is_one_clear_line(fedward: Any, words: tuple[str, ...], long: str) -> None:
    assert fedward("run", "a.toml", "--out", "all/a", "--workers", 0).code == 0
    code, _, err = fedward(*(word.replace("LONG", long) for word in words))
    assert code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "File name too long" in err


@pytest.mark.usefixtures("edited_by_hand")
def test_what_a_run_says_of_itself_is_shown_and_not_obeyed(fedward: Any) -> None:
    """A stranger's run: its command, versions, keys and values are text."""
    fedward("run", "a.toml", "--out", "all/a", "--workers", 0)
    file = Path("all/a/run.json")
    content = json.loads(file.read_text())
    evil = "\x1b]8;;file:///etc\x07[red]<script>alert(1)</script>\u202e\x9b\ndigits"
    content["environment"]["command"] = evil
    content["versions"][evil] = evil
    content["experiment"]["data"]["name"] = evil
    file.write_text(json.dumps(content))
    asked = [fedward("runs", "--in", "all"), fedward("runs", "--in", "all", "--show", "environment.command")]
    for each in (*asked, fedward("ledger", "all/a"), fedward("report", "all/a"), fedward("show", "all/a")):
        require_plain(each.out, each.err)
    assert "[red]<script>" in asked[1].out
    page = Path("report.html")
    if page.exists():
        assert "<script>alert(1)" not in page.read_text(encoding="utf8")
        assert "&lt;script&gt;alert(1)" in page.read_text(encoding="utf8")
