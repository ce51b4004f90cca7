"""Command lines, and modules and arrays, that nobody would give: some of ``benchmarks/fuzz.py``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from fuzzing import fuzzed_commands, fuzzed_parts
from fuzzing.huge_numbers import check, huge_files
from fuzzing.limited_child import Outcome, carry_out


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("prepared")
    fuzzed_commands.prepare(folder)
    yield folder
    shutil.rmtree(folder)


def problems(work: Callable[[int], Outcome], seeds: range) -> dict[int, str]:
    outcomes = {seed: work(seed) for seed in seeds}
    return {seed: f"{each.problem}\n{each.printed}" for seed, each in outcomes.items() if each.problem}


def test_any_command_line_works_or_is_refused_in_words(prepared: Path, tmp_path: Path) -> None:
    def work(seed: int) -> Outcome:
        here = tmp_path / str(seed)
        shutil.copytree(prepared, here, symlinks=True)
        return carry_out(partial(fuzzed_commands.run, fuzzed_commands.command_line(seed), here), here)

    assert problems(work, range(40)) == {}


def test_a_link_that_leads_to_itself_is_refused_in_words(prepared: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree(prepared, here, symlinks=True)
    commands = ("report loop", "run exp.toml --out loop", "check loop", "ledger loop", "merge loop --out new")
    for words in (*commands, "merge run --out loop", "flower new loop --file exp.toml"):
        outcome = carry_out(partial(fuzzed_commands.run, words.split(), here), here)
        assert (outcome.code, outcome.problem) == (2, ""), outcome.printed


def test_any_module_and_arrays_are_trained_or_refused_in_words(tmp_path: Path) -> None:
    def work(seed: int) -> Outcome:
        here = tmp_path / str(seed)
        here.mkdir()
        return carry_out(partial(fuzzed_parts.try_out, seed, here), here)

    # Not 0: it has workers, which take seconds to start.
    assert problems(work, range(1, 25)) == {}


ONCE_HUNG = (
    "algorithm.local.epochs of algorithm sgd",
    "algorithm.local.steps of algorithm sgd",
    "algorithm.local.steps of algorithm dp_sgd",
    "attack.data.0.pattern.size of attack square",
    "attack.data.0.pattern.size of attack triangle",
    "data.public_features.scales of data scattering",
    "data.public_features.angles of data scattering",
)


@pytest.mark.parametrize("name", ONCE_HUNG)
def test_a_whole_number_that_is_absurd_is_refused_in_words(name: str, tmp_path: Path) -> None:
    outcome = carry_out(partial(check, dict(huge_files())[name], tmp_path), tmp_path)
    assert (outcome.code, outcome.problem) == (2, ""), outcome.printed
    assert any(each in outcome.printed for each in ("must be at most", "must lie inside"))


def test_every_whole_number_of_a_file_is_made_huge_in_its_turn() -> None:
    names = set(dict(huge_files()))
    assert {"rounds of file ", "data.users of data digits", "data.classes of data synthetic"} <= names
    assert len(names) > 50


@pytest.mark.parametrize("kind", ["lock", "open file", "meta scores"])
def test_what_the_fuzzing_found_is_refused_before_training(kind: str, tmp_path: Path) -> None:
    seed = {"lock": 70, "open file": 26, "meta scores": 220}[kind]
    says = {"meta scores": "plain tensor of floats"}.get(kind, "must be a model that can be copied")
    outcome = carry_out(partial(fuzzed_parts.try_out, seed, tmp_path), tmp_path)
    assert (outcome.problem, says in outcome.printed) == ("", True), outcome.printed


def test_what_never_ends_fails_and_dies_would_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzzing.limited_child.SECONDS", 0.2)

    def spin() -> int:
        while True:
            pass

    def fail() -> int:
        raise KeyError("mine")

    def die() -> int:
        os.abort()

    assert "no end within" in carry_out(spin, tmp_path).problem
    assert carry_out(fail, tmp_path).problem == "traceback"
    assert carry_out(die, tmp_path).problem == "ended by signal 6"
    assert carry_out(lambda: 1, tmp_path).problem == "fails without a word"
