"""Every file of every kind of run damaged in every way: it is named, or nothing that is shown changes."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fedward
from api.all_kinds_of_runs import MAKERS, run_of
from fedward.base.validate import InvalidValue
from fedward.reports.record_files import record_as_json
from fedward.rundir.catalogue.facts import read
from fedward.rundir.catalogue.index import run_directories
from fedward.rundir.damage import find_damage
from fedward.rundir.digest_log import NAME

DAMAGES = ("flip", "flip", "cut", "empty", "zeros", "longer", "swap", "another run", "delete")
LOCK = ".lock"
Way = tuple[str, Path, bytes | None]


@pytest.fixture(scope="module", params=MAKERS)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of each kind, and another of the same kind."""
    folder = tmp_path_factory.mktemp("damaged")
    return run_of(request.param, folder), run_of(request.param, folder, seed=3)


def ways(run: Path, other: Path) -> Iterator[Way]:
    """What each file may become: its content, or None where it is deleted."""
    files = sorted(file for file in run.rglob("*") if file.is_file() and file.name != LOCK)
    contents = {file: file.read_bytes() for file in files}
    for file in files:
        chance = random.Random(f"damage {file.relative_to(run)}")
        content, names = contents[file], [each for each in files if each.parent == file.parent != each]
        for way in DAMAGES:
            place = chance.randrange(len(content))
            made: bytes | None = None
            if way == "flip":
                bit = bytes([content[place] ^ 1 << chance.randrange(8)])
                made = content[:place] + bit + content[place + 1 :]
            elif way == "cut":
                made = content[:place]
            elif way == "empty":
                made = b""
            elif way == "zeros":
                made = content[:place] + bytes(len(content) - place)
            elif way == "longer":
                made = content + content[place:]
            elif way == "swap":
                made = contents[chance.choice([each for each in names if each != file])]
            elif way == "another run":
                twin = other / file.relative_to(run)
                if not twin.is_file():
                    continue
                made = twin.read_bytes()
            if made != content:
                yield way, file, made


@contextmanager
def damaged(file: Path, made: bytes | None) -> Iterator[None]:
    """Within it a file is what it was made, or is not there."""
    content, mode = file.read_bytes(), file.stat().st_mode
    file.unlink() if made is None else file.write_bytes(made)
    try:
        yield
    finally:
        file.write_bytes(content)
        file.chmod(mode)


def find(file: Path) -> list[Path]:
    """The files that are found to be damaged where this one is."""
    try:
        return [each.file for each in find_damage(file.parent, has_digests=True)[1]]
    except InvalidValue as error:
        return [file] * (file.name == NAME and NAME in str(error))


def shown_by_load(run: Path) -> str:
    record = fedward.load(run)
    return json.dumps(record_as_json(record), sort_keys=True, default=str)


def shown_by_runs(run: Path) -> str:
    """All runs that are listed below, as ``fedward runs`` has them."""
    found = [read(path) for path in run_directories(run)]
    return "\n".join(
        f"{each.path} {each.state} {each.note} {each.facts} {each.read_rounds()}" for each in found
    )


def named_or_the_same(show: Callable[[Path], str], run: Path, file: Path, before: str) -> bool:
    try:
        after = show(run)
    except InvalidValue as error:
        # Of scores that are missing it is said which replica they are of.
        return file.name == NAME or any(
            name in str(error) for name in (file.name, file.name.rpartition("-")[0] or file.name)
        )
    return after == before or file.name in after or "damaged" in after


def test_every_damage_is_named_and_nothing_damaged_is_shown(runs: tuple[Path, Path]) -> None:
    run, other = runs
    loaded, listed = shown_by_load(run), shown_by_runs(run)
    tried, silent = 0, []
    for way, file, made in ways(run, other):
        tried += 1
        with damaged(file, made):
            # With the digests of another run all other files are wrong; a line that is none has no effect.
            named = any(find(file)) if way == "another run" else file in find(file)
            if not named and (file.name, way) != (NAME, "longer"):
                silent.append(("digests", way, file.name))
            for show, before in ((shown_by_load, loaded), (shown_by_runs, listed)):
                if not named_or_the_same(show, run, file, before):
                    silent.append((show.__name__, way, file.name))
    assert not silent
    assert tried > 50


def test_verify_names_a_damaged_file_with_what_that_means_and_goes_on(runs: tuple[Path, Path]) -> None:
    run, other = runs
    whole = fedward.verify(run)
    assert whole.intact, whole.all_damage
    assert whole.digests.there
    chosen = random.Random("verify").sample([each for each in ways(run, other) if each[0] != "longer"], 6)
    for way, file, made in chosen:
        with damaged(file, made):
            found = fedward.verify(run)
        assert not found.intact, (way, file)
        assert file.name == NAME or file in [each.file for each in found.all_damage if each.means], way
    assert fedward.verify(run).intact


def test_a_report_is_not_made_of_damage(runs: tuple[Path, Path], tmp_path: Path) -> None:
    run, other = runs
    page = tmp_path / "page.html"
    shown = [each for each in ways(run, other) if each[1].name in ("result.json", "ledgers.json")]
    for _, file, made in shown[:3]:
        with damaged(file, made), pytest.raises(InvalidValue, match=file.name):
            fedward.report(run, out=page)
    for _, file, made in [each for each in ways(run, other) if each[0] == "flip"][::5]:
        if file.parent != run or (run / "swept.json").exists():
            continue
        with damaged(file, made), pytest.raises(InvalidValue, match=re.escape(file.name)):
            fedward.report(run, out=page, for_audit=True)
    assert not page.exists()


def test_a_file_that_the_run_never_wrote_is_named(runs: tuple[Path, Path]) -> None:
    run, _ = runs
    strange = run / "scores-000900-000901.npz"
    shutil.copy(next(run.rglob("*.json")), strange)
    _, found = find_damage(run, has_digests=True)
    assert [(each.file, each.kind) for each in found] == [(strange, "unexpected")]
    strange.unlink()
    (run / "notes.txt").write_text("one's own")
    assert find_damage(run, has_digests=True)[1] == []
    (run / "notes.txt").unlink()
