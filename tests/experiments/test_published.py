"""No experiment overwrites what is published unless it is asked to, and never with less."""

from __future__ import annotations

import argparse
import gzip
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments"
PUBLISHED = runpy.run_path(str(FOLDER / "published.py"))
place_of, size_of = PUBLISHED["place_of"], PUBLISHED["size_of"]
SCRIPTS = sorted(
    file for file in FOLDER.glob("*/*.py") if 'if __name__ == "__main__"' in file.read_text(encoding="utf8")
)


def options(*words: str) -> argparse.Namespace:
    made = argparse.ArgumentParser()
    PUBLISHED["add_place_options"](made)
    made.add_argument("--small", action="store_true")
    made.add_argument("--show", action="store_true")
    return made.parse_args(words)


def lines(file: Path, count: int, rounds: int = 3) -> None:
    records = [
        {"name": "a", "seed": seed, "rounds": rounds, "accuracy": [0.5] * rounds} for seed in range(count)
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments" / "one").mkdir(parents=True)
    lines(tmp_path / "experiments" / "one" / "results.jsonl", 4)
    return tmp_path / "experiments" / "one"


def test_a_run_goes_to_a_directory_of_its_own(here: Path) -> None:
    place = place_of(options(), here)
    assert place.out == Path("runs/one")
    before = (here / "results.jsonl").read_bytes()
    lines(place.file("results.jsonl"), 5)
    place.publish("results.jsonl")
    assert (here / "results.jsonl").read_bytes() == before


def test_what_is_published_is_as_large_as_what_was(here: Path) -> None:
    place = place_of(options("--publish", "--out", "mine"), here)
    place.file("curve.png").write_bytes(b"new")
    lines(place.file("results.jsonl"), 4)
    place.publish("results.jsonl", "curve.png", "missing.png")
    assert (here / "curve.png").read_bytes() == b"new"
    assert (here / "results.jsonl").read_bytes() == place.file("results.jsonl").read_bytes()


@pytest.mark.parametrize(("count", "rounds", "what"), [(3, 3, "lines|numbers"), (4, 2, "numbers|rounds")])
def test_a_smaller_run_is_refused_whole(here: Path, count: int, rounds: int, what: str) -> None:
    place = place_of(options("--publish"), here)
    before = (here / "results.jsonl").read_bytes()
    place.file("a.png").write_bytes(b"new")
    lines(place.file("results.jsonl"), count, rounds)
    with pytest.raises(SystemExit, match=rf"is not replaced: .* ({what}), the published one"):
        place.publish("a.png", "results.jsonl")
    assert (here / "results.jsonl").read_bytes() == before
    assert not (here / "a.png").exists()


def test_fewer_replicas_are_smaller_though_nothing_else_is(tmp_path: Path) -> None:
    for name, replicas in (("few", 10), ("many", 1000)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"a": {"replicas": replicas, "accuracy": 0.5}}))
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress((tmp_path / "many.json").read_bytes()))
    few, many = (tmp_path / f"{name}.json" for name in ("few", "many"))
    assert size_of(tmp_path / "packed.json.gz") == size_of(many) == {"replicas": 1000, "numbers": 2}
    with pytest.raises(SystemExit, match="10 replicas, the published one 1,000"):
        PUBLISHED["require_no_smaller"](few, many)
    PUBLISHED["require_no_smaller"](many, few)


@pytest.mark.parametrize("words", [("--small",), ("--show",)])
def test_only_a_whole_run_is_published(here: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match="--publish is for a whole run"):
        place_of(options("--publish", *words), here)


def test_the_folder_itself_is_no_place_to_write(here: Path) -> None:
    with pytest.raises(SystemExit, match="another directory than that of the published records"):
        place_of(options("--out", str(here)), here)


def test_showing_shows_what_was_published_until_there_is_something_else(here: Path) -> None:
    place = place_of(options("--show"), here)
    assert place.records("results.jsonl") == here / "results.jsonl"
    lines(place.file("results.jsonl"), 1)
    assert place.records("results.jsonl") == place.file("results.jsonl")
    assert place_of(options(), here).records("results.jsonl") == place.file("results.jsonl")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_no_script_writes_beside_itself(script: Path) -> None:
    text = script.read_text(encoding="utf8")
    assert "place_of(" in text
    assert "place.publish(" in text
    for written in ("savefig(HERE", "write_text(HERE", "open(HERE", 'HERE / f"{figure}.json").write'):
        assert written not in text


def test_a_script_shows_published_records_and_changes_none(tmp_path: Path) -> None:
    script = FOLDER / "xie_table_3" / "run.py"
    before = {file: file.read_bytes() for file in script.parent.iterdir() if file.is_file()}
    words = [sys.executable, str(script), "--show", "--out", "mine"]
    shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    seeds = len((script.parent / "results.jsonl").read_text(encoding="utf8").splitlines())
    assert seeds > 1
    assert f"{10 * seeds} " in shown  # ten trainings of each
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["accuracy.png"]
    assert {file: file.read_bytes() for file in before} == before
