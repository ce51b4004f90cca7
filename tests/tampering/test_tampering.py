"""Damage that is shown, and links that are written through: some of what ``benchmarks/red_team.py`` tries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tampering.damage import damage
from tampering.links import LINKS, PRECIOUS, Link, try_link
from tampering.prepared_runs import make_runs
from tampering.shown import Shown, judge, show, worst

WAYS = (
    Link(place="here/checkpoint.pt", command="run plain.toml --out here"),
    Link(place="here/certificate.json", command="certify plain.toml -m 4 --score vote --out here"),
    Link(place="here/noise_multiplier=1,seed=1", command="sweep sweep.toml --out here"),
    Link(place="here/plan.csv", command="plan --users 1000 --epsilon 2 --k 3 --picture here/plan.png"),
)


@pytest.mark.parametrize("link", WAYS, ids=lambda link: link.place)
def test_nothing_is_written_through_a_link(link: Link, tmp_path: Path) -> None:
    assert link in LINKS
    assert try_link(link, tmp_path) == ""


def test_a_link_that_is_written_through_would_be_found(tmp_path: Path) -> None:
    chosen_by_the_user = Link(place="here/page.html", command="report plain.toml --out here/page.html")
    assert try_link(chosen_by_the_user, tmp_path) == ""
    (tmp_path / "precious").write_bytes(PRECIOUS + b"!")
    folder = tmp_path / "other"
    folder.mkdir()
    through = Link(place="new.toml", command="new new.toml")
    assert try_link(through, folder) == ""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, seed in (("whole", 1), ("others", 2)):
        (folder / name).mkdir()
        make_runs(folder / name, seed=seed, only=("run", "voted"))
    for file in (folder / "whole").glob("*.toml"):
        file.unlink()
    yield folder
    shutil.rmtree(folder)


def test_a_run_that_is_left_alone_shows_the_same_again(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "whole", tmp_path / "here")
    first, second = (show(tmp_path / "here", "voted") for _ in range(2))
    assert first == second
    assert all(each.code == 0 for each in first.values())
    assert "certificate check certificate.json" in first


def test_the_same_seed_does_the_same_damage(runs: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        shutil.copytree(runs / "whole", tmp_path / name)
        done = damage(tmp_path / name, runs / "others", 5)
        file = tmp_path / name / done.run / done.file
        found.append((done, file.read_bytes() if file.exists() else None))
    assert found[0] == found[1]


def test_another_number_without_a_word_is_silent() -> None:
    before = Shown(code=0, text="accuracy 90.0 %\nε = 1.2")
    for after, verdict in (
        (before, "the same"),
        (Shown(code=0, text="accuracy 91.0 %\nε = 1.2"), "silent"),
        (Shown(code=0, text="accuracy 91.0 %\nresult.json is damaged"), "named"),
        (Shown(code=2, text="error: result.json is damaged"), "named"),
        (Shown(code=0, text="accuracy 90.0 %"), "left out"),
        (Shown(code=3, text="Traceback (most recent call last): KeyError"), "crashed"),
    ):
        assert judge(before, after, "result.json") == verdict
    assert worst(["the same", "named", "silent"]) == "silent"
